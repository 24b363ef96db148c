package verify_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/fleet/verify"
	"kiln.dev/kiln/test/golden"
	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

// aTree is a machine that is done, as files under a temporary root, with fake programs before the
// real ones. Owners are in a table, because tests are not always root.
type aTree struct {
	t      *testing.T
	n      *node.Node
	shell  []string
	root   string // KILN_ROOT
	world  string // the fake programs, and what they know
	owners map[string]string
	units  map[string]string // what systemctl show says of units, if it is not as rendered

	messages string // standard error of what ran last
}

func TestMain(m *testing.M) { golden.Main(m) }

// grow lays out a machine as it is after its first boot.
func grow(t *testing.T, n *node.Node, shell string) *aTree {
	t.Helper()
	dir := t.TempDir()
	d := n.Delivered()
	m := &aTree{
		t: t, n: &d, shell: need.Words(shell), root: dir + "/root", world: dir + "/world",
		owners: map[string]string{}, units: map[string]string{},
	}
	for i := range d.Dirs {
		m.folder(d.Dirs[i].Path, os.FileMode(d.Dirs[i].Mode))
		m.owners[d.Dirs[i].Path] = d.Dirs[i].User + ":" + d.Dirs[i].Group
	}
	retired := m.retired()
	for i := range d.Files {
		f := &d.Files[i]
		if slices.Contains(retired, f.Path) {
			continue
		}
		m.write(f.Path, string(f.Content))
		require.NoError(t, os.Chmod(m.root+f.Path, os.FileMode(f.Mode)))
		m.owners[f.Path] = f.User + ":" + f.Group
	}
	for _, l := range d.Links {
		m.link(l.Target, l.Path)
	}
	list := n.File(node.List)
	m.write("/var/lib/kiln/state",
		fmt.Sprintf("%x\n\"files\":0,\"done\":1\n \n", sha256.Sum256(list.Content)))
	m.write("/etc/machine-id", "6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1\n")
	return m
}

// retired returns the words of the hook's data that name what it removes.
func (m *aTree) retired() []string {
	for line := range strings.Lines(string(m.n.File("/etc/kiln/machine").Content)) {
		if words, ok := strings.CutPrefix(line, "retire='"); ok {
			return strings.Fields(strings.TrimSuffix(words, "'\n"))
		}
	}
	return nil
}

func (m *aTree) folder(path string, mode os.FileMode) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(m.root+path, 0o755))
	require.NoError(m.t, os.Chmod(m.root+path, mode))
}

func (m *aTree) write(path, content string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.root+path), 0o755))
	require.NoError(m.t, os.WriteFile(m.root+path, []byte(content), 0o600))
}

func (m *aTree) read(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(m.root + path)
	require.NoError(m.t, err)
	return string(content)
}

func (m *aTree) link(target, path string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.root+path), 0o755))
	require.NoError(m.t, os.Symlink(target, m.root+path))
}

func (m *aTree) remove(path string) {
	m.t.Helper()
	require.NoError(m.t, os.RemoveAll(m.root+path))
}

// fakes writes the fake programs: stat, with the owners of the table, and systemctl.
func (m *aTree) fakes() {
	m.t.Helper()
	var owners strings.Builder
	for path, owner := range m.owners {
		if owner != "root:root" {
			fmt.Fprintf(&owners, "s#0:0 root:root \\.%s$#%s %s .%[1]s#\n", path,
				strings.NewReplacer("etcd", "232", "root", "0").Replace(owner), owner)
		}
	}
	script.Write(m.t, m.world+"/stat", fmt.Sprintf(`#!/bin/sh
case $2${3#"$KILN_ROOT"} in
'%%F %%u %%g %%A/etc/etcd/pki') exec %[1]s -c '%%F 232 232 %%A' "$3" ;;
'is %%f %%u:%%g %%U:%%G %%n'*) ;;
*) exec %[1]s "$@" ;;
esac
shift 2
%[1]s -c 'is %%f 0:0 root:root %%n' "$@" | sed '%[2]s'
`, need.Basic(m.t, "stat"), owners.String()))
	var b strings.Builder
	for _, u := range m.n.Units {
		state := "enabled"
		if u.Masked {
			state = "masked"
		}
		fmt.Fprintf(&b, "%s) file=/etc/systemd/system/%[1]s state=%s ;;\n", u.Name, state)
	}
	var changed strings.Builder
	for name, text := range m.units {
		fmt.Fprintf(&changed, "%s) %s ;;\n", name, text)
	}
	script.Write(m.t, m.world+"/systemctl", `#!/bin/sh
case $* in
'is-active --quiet multi-user.target') exit ;;
is-*) exit 3 ;;
'show -p RequiredBy '*) echo && exit ;;
'show -p WantedBy '*) echo multi-user.target && exit ;;
*' --value kubelet.service') echo 0 && exit ;;
*' --value kiln-apply.service') echo `+cmp.Or(strings.TrimPrefix(m.units["kiln-apply.service"],
		"state="), "inactive")+` && exit ;;
esac
[ "$1" = show ] || {
	echo "$*" >>"$KILN_ROOT/systemctl"
	fails=''
	[ ! -e "$KILN_ROOT/fails" ] || IFS= read -r fails <"$KILN_ROOT/fails" || :
	[ "$*" != "$fails" ] || exit 1
	[ ! -x "${0%/*}/happens" ] || exec "${0%/*}/happens" "$*"
	exit
}
while [ "$1" != -- ]; do shift; done
shift
first=yes
for unit; do
[ -n "$first" ] || echo
first=''
state='' load=loaded drop=''
file=/usr/lib/systemd/system/$unit
[ ! -e "$KILN_ROOT/etc/systemd/system/$unit" ] || file=/etc/systemd/system/$unit
case $unit in
`+b.String()+`
esac
[ "$state" != masked ] || load=masked file=/dev/null
for f in "$KILN_ROOT/etc/systemd/system/$unit".d/*.conf; do
	[ ! -e "$f" ] || drop="$drop ${f#"$KILN_ROOT"}"
done
case $unit in
`+changed.String()+`
esac
printf '%s\n' "LoadState=$load" "UnitFileState=$state" "FragmentPath=$file" "DropInPaths=${drop# }"
done
`)
}

func (m *aTree) run(stdin string, words ...string) (string, int) {
	m.t.Helper()
	m.fakes()
	cmd := exec.Command(m.shell[0], append(m.shell[1:], words...)...)
	cmd.Env = []string{"PATH=" + m.world + ":/usr/bin:/bin:/usr/sbin:/sbin", "KILN_ROOT=" + m.root}
	cmd.Stdin = strings.NewReader(stdin)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err := cmd.Run()
	var exit *exec.ExitError
	require.False(m.t, err != nil && !errors.As(err, &exit), err)
	m.messages = messages.String()
	return out.String(), cmd.ProcessState.ExitCode()
}

// compared returns the report of a listing that the script printed on the machine.
func (m *aTree) compared() *verify.Report {
	m.t.Helper()
	program, err := verify.Script(m.n)
	require.NoError(m.t, err)
	out, code := m.run(program, "-s")
	require.Zero(m.t, code)
	require.Empty(m.t, m.messages)
	l, err := verify.Parse(m.n, []byte(out))
	require.NoError(m.t, err)
	return verify.Compare(m.n, l)
}

func objects(r *verify.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, f.Object)
	}
	return list
}

// TestVerifyUntouched: no machine of these cases differs from its document after its first boot.
func TestVerifyUntouched(t *testing.T) {
	t.Parallel()
	shells := need.Usable(t)
	for i, name := range []string{"single", "ha", "flannel", "etcd-machine", "binaries",
		"backup", "systems", "disks", "interfaces", "packages", "sysext", "imported"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range golden.UnlikeNodes(t, name) {
				m := grow(t, n, shells[i%len(shells)])
				r := m.compared()
				require.Empty(t, r.Findings, n.Name)
				require.True(t, r.Same())
				require.True(t, r.Done)
			}
		})
	}
}

// alterations are twenty ways to tamper with a machine, each with the object that must be named.
var alterations = []struct {
	object string
	do     func(m *aTree, path string)
}{
	{"/etc/kubernetes/pki/ca.crt", alter},
	{"/etc/kubernetes/manifests/kube-apiserver.yaml", alter},
	{"/etc/kubernetes/manifests/etcd.yaml", alter},
	{"/etc/kiln/boot", alter},
	{"/etc/kiln/objects/index", alter},
	{"/var/lib/kubelet/config.yaml", alter},
	{"/etc/systemd/system/kubelet.service", alter},
	{"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf", alter},
	{"/etc/sysctl.d/90-kiln.conf", func(m *aTree, path string) { m.remove(path) }},
	{"/etc/kubernetes/kubelet.conf", func(m *aTree, path string) {
		require.NoError(m.t, os.Chmod(m.root+path, 0o644))
	}},
	{"/etc/kubernetes/pki/sa.key", func(m *aTree, path string) {
		m.owners[path] = "1000:1000"
	}},
	{"/etc/kubernetes/pki/ca.key", func(m *aTree, path string) {
		require.NoError(m.t, os.Rename(m.root+path, m.root+"/etc/kept"))
		m.link(m.root+"/etc/kept", path)
	}},
	{"/var/lib/kubelet", func(m *aTree, path string) {
		require.NoError(m.t, os.Chmod(m.root+path, 0o755))
	}},
	{"/var/log/kubernetes", func(m *aTree, path string) { m.remove(path) }},
	{"/etc/kiln/checks", func(m *aTree, path string) { // who reads a pipe waits for ever
		m.remove(path)
		_, code := m.run(`mkfifo "$KILN_ROOT`+path+`"`, "-s")
		require.Zero(m.t, code)
	}},
	{"/etc/systemd/system/multi-user.target.wants/kubelet.service", // systemctl disable
		func(m *aTree, path string) { m.remove(path) }},
	{"/etc/systemd/system/multi-user.target.wants/kiln.service", func(m *aTree, path string) {
		m.remove(path)
		m.link("/etc/other.service", path)
	}},
	{"/etc/systemd/system/kiln.service", func(m *aTree, path string) { // systemctl mask
		m.remove(path)
		m.link("/dev/null", path)
	}},
	{"/etc/systemd/system/kiln.service.d/9.conf", func(m *aTree, path string) {
		m.write(path, "[Service]\n")
	}},
	{"/etc/systemd/system/kubelet.service.d/9.conf", func(m *aTree, path string) {
		m.write(path, "[Service]\n") // without systemctl daemon-reload
		m.units["kubelet.service"] = "drop=''"
	}},
	{"/etc/kubernetes/pki/sa.pub", func(m *aTree, path string) {
		require.NoError(m.t, os.Chmod(m.root+path, 0o644|fs.ModeSetuid))
	}},
	{"/run/systemd/transient/kiln.service", func(m *aTree, path string) {
		m.units["kiln.service"] = "file=" + path
	}},
	{"/etc/kubernetes/manifests/miner.yaml", func(m *aTree, path string) { m.write(path, "x") }},
	{"/etc/kubernetes/manifests/etcd.yaml~", func(m *aTree, path string) { m.write(path, "x") }},
	{"/etc/kubernetes/pki/install.key", func(m *aTree, path string) { m.write(path, "x") }},
}

// alter adds a line to a file.
func alter(m *aTree, path string) {
	f := m.n.File(path)
	require.NotNil(m.t, f, path)
	require.NoError(m.t, os.WriteFile(m.root+path, append(bytes.Clone(f.Content), "#\n"...), 0o600))
}

// TestVerifyTampered: all that was done to a machine is named, and nothing else.
func TestVerifyTampered(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(alterations), 20)
	for i, shell := range need.Usable(t) {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			m := grow(t, golden.Nodes(t, "single")[0], shell)
			var want []string
			for j, a := range alterations {
				a.do(m, a.object)
				want = append(want, a.object)
				slices.Sort(want)
				if j%3 == i || j == len(alterations)-1 {
					require.Equal(t, want, objects(m.compared()), a.object)
				}
			}
		})
	}
}

// TestVerifyForged: the list on the machine says that nothing differs; whole hashes and the
// identity say that something does.
func TestVerifyForged(t *testing.T) {
	t.Parallel()
	m := grow(t, golden.Nodes(t, "single")[1], need.Usable(t)[0])
	const path = "/etc/kubernetes/pki/ca.crt"
	was := sha256.Sum256([]byte(m.read(path)))
	alter(m, path)
	is := sha256.Sum256([]byte(m.read(path)))
	m.write(node.List, strings.Replace(m.read(node.List), fmt.Sprintf("%.8x", was),
		fmt.Sprintf("%.8x", is), 1))
	list := strings.Replace(m.read(node.List), fmt.Sprintf("%x", was[:4]),
		fmt.Sprintf("%x", is[:4]), 1)
	m.write(node.List, list)
	require.NoError(t, os.Chmod(m.root+path, 0o644))
	r := m.compared()
	require.False(t, r.Other)
	require.Equal(t, []string{node.List, path}, objects(r))

	m.write("/var/lib/kiln/state",
		fmt.Sprintf("%x\n\"files\":0,\"done\":1\n \n", sha256.Sum256([]byte(list))))
	r = m.compared()
	require.True(t, r.Other)
	require.Equal(t, []string{node.List, path}, objects(r))
}
