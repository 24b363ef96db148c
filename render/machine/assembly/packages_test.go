package assembly_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

// packaged returns a machine of that system with packages.
func packaged(t *testing.T, name, mirror string) *plan.Machine {
	t.Helper()
	s, ok := target.SystemNamed(name)
	require.True(t, ok)
	m := &plan.Machine{System: &s, Settings: &config.Effective{}, KubeletVersion: "v1.36.3",
		KubeletMinor: 36}
	m.Settings.Binaries.Source = target.SourcePackages
	m.Settings.Binaries.Mirror = mirror
	return m
}

// TestPackagesOfAPT: apt reads the repository, and asks it alone.
func TestPackagesOfAPT(t *testing.T) {
	t.Parallel()
	apt := need.Program(t, "apt-get")
	for mirror, want := range map[string]string{
		"": "https://pkgs.k8s.io/core:/stable:/v1.36/deb/",
		"http://mirror.example.com/k8s": "http://mirror.example.com/k8s" +
			"/core:/stable:/v1.36/deb/",
	} {
		_, files := assembly.Packages(packaged(t, "debian", mirror), nil, []byte("key"))
		require.Len(t, files, 2)
		require.Equal(t, "key", string(files[0].Content))
		require.Contains(t, string(files[1].Content), "Signed-By: "+files[0].Path+"\n")
		dir := t.TempDir()
		parts := filepath.Join(dir, "parts")
		require.NoError(t, os.Mkdir(parts, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(parts, filepath.Base(files[1].Path)),
			files[1].Content, 0o600))
		out, err := exec.Command(apt, "-o", "Dir::Etc::SourceList=/dev/null",
			"-o", "Dir::Etc::SourceParts="+parts, "-o", "Dir::State="+dir,
			"--print-uris", "update").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "'"+want+"InRelease' ")
		for line := range strings.Lines(string(out)) {
			require.True(t, strings.HasPrefix(line, "'"+want), "%s", line)
		}
	}
}

// TestNoPackages: a machine whose programs come from elsewhere has neither unit nor files.
func TestNoPackages(t *testing.T) {
	t.Parallel()
	m := packaged(t, "debian", "")
	m.Settings.Binaries.Source = target.SourceDownload
	unit, files := assembly.Packages(m, nil, nil)
	require.Empty(t, unit)
	require.Empty(t, files)
}

// packageFolder is where the packages of a minor are below a mirror.
const packageFolder = "core:/stable:/v1.36/rpm"

// rpms makes packages, and repositories of them.
type rpms struct {
	t    *testing.T
	dir  string // below it, a folder for each repository
	home string // of gpg
}

// newRPMs returns the tools, with a new key that signs.
func newRPMs(t *testing.T) *rpms {
	t.Helper()
	r := &rpms{t: t, dir: t.TempDir(), home: t.TempDir()} // gpg's sockets want a short path
	r.run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key",
		"kiln test <test@example.com>", "rsa2048", "sign")
	t.Cleanup(func() { r.run("gpgconf", "--kill", "all") })
	return r
}

// environment is that of all programs. rpm of Debian keeps its database below HOME.
func (r *rpms) environment() []string {
	return append(os.Environ(), "GNUPGHOME="+r.home, "HOME="+r.home)
}

// run runs a program with the key, and returns what it prints on standard output.
func (r *rpms) run(name string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = r.environment()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(r.t, err, "%s %s: %s%s", name, strings.Join(args, " "), out, said.String())
	return string(out)
}

// build puts a package without files into a repository.
func (r *rpms) build(repository, name, version, requires string) (path string) {
	r.t.Helper()
	spec := filepath.Join(r.home, name+".spec")
	require.NoError(r.t, os.WriteFile(spec, fmt.Appendf(nil, "Name: %s\nVersion: %s\n"+
		"Release: 150500.1.1\nSummary: a stand-in\nLicense: none\nBuildArch: noarch\n%s"+
		"%%description\nA stand-in.\n%%files\n", name, version, requires), 0o600))
	file := name + "-" + version + ".rpm"
	r.run("rpmbuild", "-bb", "--quiet", "--define", "_topdir "+r.home+"/build",
		"--define", "_rpmdir "+filepath.Join(r.dir, repository),
		"--define", "_rpmfilename "+file, spec)
	return filepath.Join(r.dir, repository, file)
}

// sign signs a package.
func (r *rpms) sign(path string) {
	r.t.Helper()
	r.run("rpmsign", "--addsign", "--define", "__gpg /usr/bin/gpg",
		"--define", "_gpg_name kiln test", path)
}

// index writes the index of a repository, and signs it.
func (r *rpms) index(repository string) {
	r.t.Helper()
	r.run("createrepo_c", "-q", "--no-database", filepath.Join(r.dir, repository))
	r.run("gpg", "--batch", "--quiet", "--yes", "--armor", "--detach-sign",
		filepath.Join(r.dir, repository, "repodata/repomd.xml"))
}

// rpmSystem is a root that dnf installs into, with the files of a machine.
type rpmSystem struct {
	*rpms
	dnf        string // the path of the program
	root       string
	install    []string // what the unit runs
	repository string   // the path of the repository's file
}

// newRPMSystem returns an empty root of Amazon Linux with the file and the key of kiln's
// repository, and with a repository of its own.
func newRPMSystem(r *rpms, dnf, mirror, key string) *rpmSystem {
	r.t.Helper()
	t := r.t
	s := &rpmSystem{rpms: r, dnf: dnf, root: t.TempDir()}
	unit, files := assembly.Packages(packaged(t, "amazon-linux", mirror), nil, []byte(key))
	require.Len(t, files, 2)
	for _, f := range files {
		// dnf reads the path of a key outside of the root.
		text := strings.ReplaceAll(string(f.Content), "file:///", "file://"+s.root+"/")
		s.write(f.Path, text)
		s.repository = f.Path
	}
	s.write("/etc/yum.repos.d/own.repo", "[own]\nname=own\ngpgcheck=0\n"+
		"baseurl=file://"+r.dir+"/own\n")
	s.write("/etc/dnf.conf", fmt.Sprintf("[main]\nreposdir=%[1]s/etc/yum.repos.d\n"+
		"cachedir=%[1]s/var/cache\npersistdir=%[1]s/var/dnf\nlogdir=%[1]s/var/log\nplugins=0\n",
		s.root))
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/dnf (.*)$`).FindStringSubmatch(unit)
	require.Len(t, command, 2, unit)
	s.install = strings.Fields(command[1])
	return s
}

// write writes a file of the system.
func (s *rpmSystem) write(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.root, path)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

// do runs dnf in the root, and returns what it says and whether it ended well.
func (s *rpmSystem) do(args ...string) (said string, ok bool) {
	s.t.Helper()
	cmd := exec.Command(s.dnf, append([]string{
		"-c", s.root + "/etc/dnf.conf", "--installroot=" + s.root, "--releasever=2023",
	}, args...)...)
	cmd.Env = s.environment()
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// requirePackages holds the installed packages to a list.
func (s *rpmSystem) requirePackages(want ...string) {
	s.t.Helper()
	var found []string
	for line := range strings.Lines(
		s.run("rpm", "--root", s.root, "-qa", "--qf", "%{NAME}-%{VERSION}\n")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "gpg-pubkey-") {
			found = append(found, line)
		}
	}
	require.ElementsMatch(s.t, want, found)
}

// TestPackagesOfDNF: dnf reads the repository and installs what the unit says: the version of the
// document, although there is a later one, with the packages that it depends on. dnf upgrade leaves
// the kubelet alone, and would not without the repository's exclude. dnf refuses an index of
// another key, a package without a signature, and a version that is not there.
func TestPackagesOfDNF(t *testing.T) {
	t.Parallel()
	dnf := need.Program(t, need.DNF)
	need.Right(t, "root")
	r := newRPMs(t)
	const repository = "k8s/" + packageFolder
	const cni = "Requires: kubernetes-cni\n"
	kubelet := r.build(repository, "kubelet", "1.36.3", cni)
	r.sign(r.build(repository, "kubelet", "1.36.4", cni))
	r.sign(r.build(repository, "kubernetes-cni", "1.8.0", ""))
	r.index(repository)
	r.build("own", "containerd", "2.1.0", "")
	r.index("own")
	server := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
	t.Cleanup(server.Close)
	mirror, key := server.URL+"/k8s", r.run("gpg", "--armor", "--export")

	s := newRPMSystem(r, dnf, mirror, key)
	said, ok := s.do(s.install...)
	require.False(t, ok)
	require.Contains(t, said, "kubelet-1.36.3.rpm is not signed")
	s.requirePackages()

	r.sign(kubelet)
	r.index(repository)
	s = newRPMSystem(r, dnf, mirror, newRPMs(t).run("gpg", "--armor", "--export"))
	said, ok = s.do(s.install...)
	require.False(t, ok)
	require.Contains(t, said, "repomd.xml GPG signature verification error")
	s.requirePackages()

	s = newRPMSystem(r, dnf, mirror, key)
	said, ok = s.do(strings.Fields(strings.ReplaceAll(strings.Join(s.install, " "),
		"1.36.3", "1.36.9"))...)
	require.False(t, ok)
	require.Contains(t, said, "Unable to find a match: kubelet-1.36.9")
	said, ok = s.do(s.install...)
	require.True(t, ok, said)
	s.requirePackages("kubelet-1.36.3", "kubernetes-cni-1.8.0", "containerd-2.1.0")
	said, ok = s.do(s.install...) // a second time, as after a power cut
	require.True(t, ok, said)

	r.build("own", "containerd", "2.1.1", "")
	r.index("own")
	said, ok = s.do("-q", "-y", "--refresh", "upgrade")
	require.True(t, ok, said)
	s.requirePackages("kubelet-1.36.3", "kubernetes-cni-1.8.0", "containerd-2.1.1")
	text, err := os.ReadFile(filepath.Join(s.root, s.repository))
	require.NoError(t, err)
	s.write(s.repository, strings.ReplaceAll(string(text), "exclude=", "# exclude="))
	said, ok = s.do("-q", "-y", "upgrade")
	require.True(t, ok, said)
	s.requirePackages("kubelet-1.36.4", "kubernetes-cni-1.8.0", "containerd-2.1.1")
}
