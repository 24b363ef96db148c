package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// TestRelease makes a release twice, by two users who differ in all but the commit, the Go and its
// caches, and does with its files what README.md shows.
func TestRelease(t *testing.T) {
	first := tagged(t)
	second := filepath.Join(t.TempDir(), "elsewhere", "kiln")
	run(t, "", nil, "git", "clone", "--quiet", first, second)
	home := t.TempDir()
	key := filepath.Join(home, "key")
	run(t, "", nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)

	out := filepath.Join(home, "v0.1.0")
	run(t, first, []string{"TZ=Asia/Tokyo", "LC_ALL=de_DE.UTF-8"},
		"make", "release", "OUT="+out, "KEY="+key, "ONLY=linux/amd64")
	again := filepath.Join(home, "again")
	// What git ignores is not in a release, though Go would embed this file.
	write(t, filepath.Join(second, "manifests", "prod.secrets.yaml"), "a secret")
	write(t, filepath.Join(home, "goenv"), "GOFLAGS=-tags=other\n")
	fetched := run(t, "", nil, "go", "env", "GOMODCACHE")
	modules := filepath.Join(home, "modules")
	require.NoError(t, os.Symlink(strings.TrimSpace(fetched), modules))
	run(t, second, []string{
		"TZ=America/St_Johns", "HOME=" + home, "USER=other", "GOFLAGS=-buildvcs=false",
		"GOAMD64=v3", "SOURCE_DATE_EPOCH=1", "GOENV=" + filepath.Join(home, "goenv"),
		"GOMODCACHE=" + modules, "GOFIPS140=latest", "KEY=none", "OUT=none",
	}, "sh", "-c", "umask 077; make release OUT="+again+" KEY="+key+" ONLY=linux/amd64")
	requireEqualTrees(t, out, again)

	signer, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	write(t, filepath.Join(out, "allowed_signers"), "release@kiln.dev "+string(signer))
	lines := afterRelease(t)
	run(t, out, nil, "sh", "-c", lines[0])
	run(t, out, nil, "sh", "-c", lines[1])
	t.Run("signature", func(t *testing.T) { testSignature(t, out, lines[0]) })
	t.Run("program", func(t *testing.T) {
		testProgram(t, filepath.Join(out, "kiln_0.1.0_linux_amd64"), first)
	})
	t.Run("deb", func(t *testing.T) { testDeb(t, out, lines[2]) })
	t.Run("go install", func(t *testing.T) { testInstall(t, out, lines[3]) })
	t.Run("image", func(t *testing.T) { testImage(t, out) })
	t.Run("materials", func(t *testing.T) { testMaterials(t, out) })
	t.Run("formula", func(t *testing.T) { testFormula(t, out) })
}

// TestRefusals: what is not of one commit, is not described, or would be written over, is refused.
func TestRefusals(t *testing.T) {
	dir := tagged(t)
	refused := func(out string, more ...string) string {
		cmd := exec.Command("make", append(more, "release", "OUT="+out, "ONLY=linux/amd64")...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		require.Error(t, err, "%s", text)
		return string(text)
	}
	require.Contains(t, refused(dir), dir+" exists; name a new folder")
	out := filepath.Join(t.TempDir(), "release")
	write(t, filepath.Join(dir, "cmd", "kiln", "more.go"), "package main\n")
	require.Contains(t, refused(out), "?? cmd/kiln/more.go")
	commit(t, dir)
	require.Contains(t, refused(out, "KEY="+filepath.Join(dir, "LICENSE")),
		"the commit has no tag; a trial is not signed")
	for _, row := range []struct{ tag, want string }{
		{"v0.1", "the tag v0.1 is no version such as v0.1.0"},
		{"v0.1.0-rc.1", `CHANGELOG.md: it has no heading "## v0.1.0-rc.1"`},
		{"v0.2.0", `CHANGELOG.md: it has no heading "## v0.2.0"`},
	} {
		run(t, dir, nil, "git", "tag", row.tag)
		require.Contains(t, refused(out), row.want)
		run(t, dir, nil, "git", "tag", "-d", row.tag)
	}
	run(t, dir, nil, "git", "tag", "v0.3.0")
	run(t, dir, nil, "git", "tag", "v0.4.0")
	require.Contains(t, refused(out), "several tags: v0.3.0, v0.4.0; leave one")
	require.NoDirExists(t, out)
}

// tagged returns a clone with the files of the project that git has or would take, as v0.1.0.
func tagged(t *testing.T) string {
	t.Helper()
	const top = "../.."
	dir := filepath.Join(t.TempDir(), "kiln")
	list := run(t, top, nil, "git", "ls-files", "-co", "--exclude-standard", "--deduplicate")
	for name := range strings.Lines(list) {
		from, to := filepath.Join(top, strings.TrimSpace(name)),
			filepath.Join(dir, strings.TrimSpace(name))
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // deleted, and git does not know yet
		}
		require.NoError(t, err)
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, data, info.Mode().Perm()))
	}
	changes, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	require.NoError(t, err)
	write(t, filepath.Join(dir, "CHANGELOG.md"),
		strings.Replace(string(changes), "## Unreleased", "## v0.1.0 (2026-12-01)", 1))
	run(t, dir, nil, "git", "init", "--quiet")
	commit(t, dir)
	run(t, dir, nil, "git", "tag", "v0.1.0")
	return dir
}

// commit commits all files, always at the same second.
func commit(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, nil, "git", "add", "-A")
	run(t, dir, []string{"GIT_COMMITTER_DATE=2026-12-01T12:00:00+0900"}, "git", "-c",
		"user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "x")
}

// run runs a program, and returns what it printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), caches(t)...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}

// caches returns where Go has what it built and fetched, for commands with another HOME.
func caches(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	lines := strings.Fields(string(out))
	return []string{"GOCACHE=" + lines[0], "GOMODCACHE=" + lines[1], "GOPROXY=" + lines[2]}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// requireEqualTrees holds each file of two folders to be the same.
func requireEqualTrees(t *testing.T, a, b string) {
	t.Helper()
	count := 0
	require.NoError(t, fs.WalkDir(os.DirFS(a), ".", func(p string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() {
			return nil
		}
		count++
		want, err := os.ReadFile(filepath.Join(a, p))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(b, p))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s differs between two runs", p)
		return nil
	}))
	require.GreaterOrEqual(t, count, 11, "files of a release")
}

// afterRelease returns the commands of README.md under "After the first release".
func afterRelease(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## After the first release\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.ReplaceAll(section, "\\\n", "")
	section = strings.ReplaceAll(section, "&&\n", "&& ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```")
	for _, block := range blocks.FindAllStringSubmatch(section, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	require.Len(t, lines, 5)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "VERSION", "0.1.0")
	}
	return lines
}

// testSignature: a list of hashes with one other digit does not pass, and neither does an archive
// that is another one, or that the list does not have.
func testSignature(t *testing.T, out, line string) {
	const archive = "kiln_0.1.0_linux_amd64.tar.gz"
	for _, row := range []struct{ name, file, change, want string }{
		{"list", sumsName, "s/1/2/", "incorrect signature"},
		{"archive", archive, "$ s/$/x/", archive + ": FAILED"},
		{"none in the list", "", "", "no properly formatted checksum lines found"},
	} {
		dir := t.TempDir()
		run(t, out, nil, "cp", sumsName, sumsName+".sig", "allowed_signers", archive, dir)
		command := line
		if row.file != "" {
			run(t, dir, nil, "sed", "-i", row.change, row.file)
		} else {
			command = strings.ReplaceAll(line, "0.1.0", "0.2.0")
			run(t, dir, nil, "mv", archive, strings.ReplaceAll(archive, "0.1.0", "0.2.0"))
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		require.Error(t, err, row.name)
		require.Contains(t, string(text), row.want, row.name)
		require.NoDirExists(t, filepath.Join(dir, strings.TrimSuffix(archive, ".tar.gz")))
	}
}

// testProgram: the program says what it was made from, and does its three commands without Go.
func testProgram(t *testing.T, folder, source string) {
	program := filepath.Join(folder, "kiln")
	var says struct {
		Version, Commit string
		Date            time.Time
		Modified        bool
	}
	text := run(t, "", nil, program, "version", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(text), &says))
	require.Equal(t, "v0.1.0", says.Version)
	head := run(t, source, nil, "git", "rev-parse", "HEAD")
	require.Equal(t, strings.TrimSpace(head), says.Commit)
	require.Equal(t, "2026-12-01T03:00:00Z", says.Date.Format(time.RFC3339))
	require.False(t, says.Modified)
	for _, name := range []string{
		"LICENSE", "LICENSES-OF-MODULES", "CHANGELOG.md", "cluster.schema.json", "man/kiln.1",
		"man/kiln-secrets-rotate.1", "completions/kiln.bash", "completions/_kiln",
		"completions/kiln.fish",
	} {
		require.FileExists(t, filepath.Join(folder, name))
	}
	page, err := os.ReadFile(filepath.Join(folder, "man/kiln.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), `"Dec 2026" "kiln v0.1.0"`)
	requireThreeCommands(t, program)
}

// requireThreeCommands types init, validate and render where no other program is found.
func requireThreeCommands(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	alone := []string{"PATH=" + filepath.Dir(program)}
	run(t, dir, alone, program, "init", "--name", "prod", "--address", "10.0.0.11,10.0.0.21",
		"--out", "cluster.yaml")
	run(t, dir, alone, program, "validate", "--config", "cluster.yaml")
	run(t, dir, alone, program, "render", "--config", "cluster.yaml", "--out", "./nodes")
	require.FileExists(t, filepath.Join(dir, "nodes", "cp-1", "user-data"))
}

// testDeb: the package installs, its program runs, and nothing is left when it goes.
func testDeb(t *testing.T, out, line string) {
	root := t.TempDir()
	admin := filepath.Join(root, "var/lib/dpkg")
	for _, dir := range []string{"info", "updates"} {
		require.NoError(t, os.MkdirAll(filepath.Join(admin, dir), 0o755))
	}
	write(t, filepath.Join(admin, "status"), "")
	// A root of its own, which needs no right and no chroot, as the package has no scripts.
	dpkg := "dpkg --force-not-root --force-script-chrootless --force-bad-path --root=" + root + " "
	run(t, out, nil, "sh", "-c", strings.Replace(line, "dpkg ", dpkg, 1))
	requireThreeCommands(t, filepath.Join(root, "usr/bin/kiln"))
	require.FileExists(t, filepath.Join(root, "usr/share/man/man1/kiln-render.1.gz"))
	run(t, out, nil, "sh", "-c", dpkg+"--purge kiln")
	require.NoDirExists(t, filepath.Join(root, "usr"))
}

// testInstall: go install takes the module from the folder that a module proxy hands out.
func testInstall(t *testing.T, out, line string) {
	bin := t.TempDir()
	// The list of versions is the server's.
	write(t, filepath.Join(out, "go/kiln.dev/kiln/@v/list"), "v0.1.0\n")
	var fetched string // what kiln needs is here, because the tests needed it
	for _, word := range caches(t) {
		if dir, ok := strings.CutPrefix(word, "GOMODCACHE="); ok {
			fetched = "file://" + filepath.Join(dir, "cache", "download")
		}
	}
	run(t, t.TempDir(), []string{
		"GOBIN=" + bin, "GOMODCACHE=" + t.TempDir(), "CGO_ENABLED=0",
		"GOFLAGS=-modcacherw -trimpath", // packages that the release built are not built again
		"GOPROXY=file://" + filepath.Join(out, "go") + "," + fetched, "GOSUMDB=off",
	}, "sh", "-c", line)
	require.Contains(t, run(t, "", nil, filepath.Join(bin, "kiln"), "version"), "kiln v0.1.0\n")
}

// testImage: the layout is whole, has the name by which containerd knows it, and its image starts
// the program.
func testImage(t *testing.T, out string) {
	dir := t.TempDir()
	run(t, dir, nil, "tar", "-xf", filepath.Join(out, "kiln_0.1.0_oci.tar"))
	index, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	require.Equal(t, "kiln.dev/kiln:v0.1.0",
		manifest.Manifests[0].Annotations["io.containerd.image.name"])
	platforms, err := index.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	manifest, err = platforms.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	image, err := platforms.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, []string{"/kiln"}, config.Config.Entrypoint)
	require.Equal(t, "65532:65532", config.Config.User)
}

// testMaterials: the bill of materials names the module of each library that the program says it
// holds.
func testMaterials(t *testing.T, out string) {
	var bill struct {
		Components []struct{ Name, Version string }
	}
	text, err := os.ReadFile(filepath.Join(out, "kiln_0.1.0_linux_amd64.cdx.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &bill))
	listed := map[string]bool{}
	for _, c := range bill.Components {
		listed[c.Name+"@"+c.Version] = true
	}
	program := filepath.Join(out, "kiln_0.1.0_linux_amd64", "kiln")
	count := 0
	for line := range strings.Lines(run(t, "", nil, "go", "version", "-m", program)) {
		if word := strings.Fields(line); len(word) > 2 && word[0] == "dep" {
			count++
			require.True(t, listed[word[1]+"@"+word[2]], line)
		}
	}
	require.Greater(t, count, 20, "modules")
}

// testFormula: the formula fetches the archive, and wants its hash.
func testFormula(t *testing.T, out string) {
	text, err := os.ReadFile(filepath.Join(out, "kiln.rb"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(out, sumsName))
	require.NoError(t, err)
	found := regexp.MustCompile(`url "(.*)/(.*)"\n\s+sha256 "(.*)"`).FindAllSubmatch(text, -1)
	require.Len(t, found, 1)
	require.Equal(t, "https://kiln.dev/releases/v0.1.0", string(found[0][1]))
	require.Contains(t, string(sums), string(found[0][3])+"  "+string(found[0][2])+"\n")
}
