package render_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

// booting boots documents in roots of their own with cloud-init's own code: bootcmd, and
// write_files if it has not run for this instance. It writes the folders and modes in between.
//
//go:embed testdata/boot.py
var booting string

// enter makes roots out of folders: the system's programs, and nothing else of it.
const enter = `set -e
dir=$1; shift
for root in "$dir"/root-*; do
	for name in bin sbin lib lib64; do
		[ -e "/$name" ] || continue
		[ -L "$root/$name" ] || ln -s "usr/$name" "$root/$name"
	done
	mount --bind /usr "$root/usr"
	mount --bind "$root/local" "$root/usr/local"
	mount --bind /dev "$root/dev"
done
exec "$@"
`

// newRoot makes the folder in which a document boots.
func newRoot(t testing.TB, root string, d *userData) {
	t.Helper()
	for _, name := range []string{"usr", "local", "dev", "tmp", "etc", "run", "bin-fake",
		"var/lib/kiln"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o755))
	}
	// The folder of the body has this mode when the machine has fetched it.
	require.NoError(t, os.Chmod(filepath.Join(root, "var/lib/kiln"), 0o700))
	for name, text := range map[string]string{
		"user-data": string(d.text), "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
		"etc/group": "root:x:0:\n", "var/lib/kiln/body": string(d.body),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	script.Write(t, filepath.Join(root, "bin-fake/systemd-run"), "#!/bin/sh\n")
}

// bootIn boots the documents of the roots below dir as this instance. It starts Python with the
// words before.
func bootIn(t testing.TB, dir, instance string, before ...string) {
	t.Helper()
	words := append([]string{"--mount", "--propagation", "private", "sh", "-c", enter, "--", dir},
		before...)
	cmd := exec.Command("unshare", append(words, need.Python, "-c", booting, dir, instance)...)
	cmd.Env = append(os.Environ(), "PATH=/bin-fake:/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// needBoots asks for what bootIn uses.
func needBoots(t testing.TB) {
	t.Helper()
	need.Program(t, "cloud-init")
	need.Right(t, "root")
	need.Right(t, need.OwnFiles)
}

// call is a system call in strace's words.
var call = regexp.MustCompile(`^([a-z0-9_]+)\((.*)\) += ([0-9]+)`)

// inQuotes matches a path in the words of a call.
var inQuotes = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// process is what a process has of the one that started it.
type process struct {
	root  string // the folder that it is in
	umask int
}

// creation is a file that a process made or renamed.
type creation struct {
	process
	path string
	from string // the name before, if it was renamed
	mode int    // that it was made with, without the bits of the umask
}

// creations returns the files that processes made, by their trace, in the order of the calls. The
// calls of a process whose start is not yet in the trace come after it.
func creations(t testing.TB, trace string) (made []creation) {
	t.Helper()
	known, waiting, begun := map[string]*process{}, map[string][]string{}, map[string]string{}
	var read func(pid, text string)
	read = func(pid, text string) {
		p := known[pid]
		if p == nil {
			waiting[pid] = append(waiting[pid], text)
			return
		}
		if strings.HasPrefix(text, "+++ ") {
			delete(known, pid)
			return
		}
		m := call.FindStringSubmatch(text)
		if m == nil {
			return
		}
		var paths []string
		for _, quoted := range inQuotes.FindAllStringSubmatch(m[2], -1) {
			paths = append(paths, quoted[1])
		}
		octal := func(text string) int {
			n, err := strconv.ParseInt(text, 8, 32)
			require.NoError(t, err, text)
			return int(n)
		}
		switch m[1] {
		case "umask":
			p.umask = octal(m[2])
		case "chroot":
			p.root = filepath.Base(paths[0])
		case "clone", "clone3", "fork", "vfork":
			child := *p
			known[m[3]] = &child
			late := waiting[m[3]]
			delete(waiting, m[3])
			for _, text := range late {
				read(m[3], text)
			}
		case "open", "openat", "creat":
			if strings.Contains(m[2], "O_CREAT") || m[1] == "creat" {
				mode := octal(m[2][strings.LastIndex(m[2], " ")+1:]) &^ p.umask
				made = append(made, creation{process: *p, path: paths[0], mode: mode})
			}
		case "rename", "renameat", "renameat2":
			made = append(made, creation{process: *p, path: paths[1], from: paths[0]})
		}
	}
	for line := range strings.Lines(trace) {
		pid, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		text = strings.TrimSpace(text)
		if head, unfinished := strings.CutSuffix(text, "<unfinished ...>"); unfinished {
			begun[pid] = strings.TrimSpace(head)
			continue
		}
		if _, tail, resumed := strings.Cut(text, " resumed>"); resumed &&
			strings.HasPrefix(text, "<... ") {
			text = begun[pid] + tail
		}
		if len(known) == 0 && len(made) == 0 {
			known[pid] = &process{umask: 0o022}
		}
		read(pid, text)
	}
	require.Empty(t, waiting)
	return made
}

// exposed returns the files that others could read when they were made, of those of a root that not
// everybody may read. folders are those that only root and an owner could enter at the time.
func exposed(made []creation, root string, secrets, folders []string) (paths []string, seen int) {
	modes := map[string]int{}
	for _, c := range made {
		if c.root != root {
			continue
		}
		if mode, there := modes[c.from]; there && c.from != "" {
			modes[c.path] = mode
		} else if _, there := modes[c.path]; !there {
			modes[c.path] = c.mode
		}
	}
	for _, secret := range secrets {
		mode, made := modes[secret]
		if !made {
			continue
		}
		seen++
		if mode&0o077 != 0 && !isBelow(secret, folders) {
			paths = append(paths, secret)
		}
	}
	return paths, seen
}

// TestNeverReadable boots the golden documents with cloud-init's own code and looks at each system
// call: each secret is made so that nobody else can open it. The document
// without its protection shows that the test finds what it looks for.
func TestNeverReadable(t *testing.T) {
	t.Parallel()
	needBoots(t)
	strace := need.Program(t, "strace")
	docs, dir := userDatas(t), t.TempDir()
	bare := withoutProtection(docs[slices.IndexFunc(docs, func(d userData) bool {
		return d.name == "amazon-linux/ip-10-0-0-11"
	})])
	seen := map[string]bool{}
	docs = slices.DeleteFunc(docs, func(d userData) bool {
		like := fmt.Sprintln(d.folders, d.touchedOnly, d.body != nil)
		was := seen[like]
		seen[like] = true
		return was && !*all
	})
	require.Greater(t, len(docs), 8)
	docs = append(docs, bare)
	rootOf := func(i int) string { return fmt.Sprintf("root-%03d", i) }
	for i := range docs {
		newRoot(t, filepath.Join(dir, rootOf(i)), &docs[i])
	}
	bootIn(t, dir, "one", strace, "-f", "--seccomp-bpf", "-q", "-s", "4096", "-o",
		filepath.Join(dir, "trace"), "-e", "signal=none", "-e",
		"trace=chroot,clone,clone3,creat,fork,open,openat,rename,renameat,renameat2,umask,vfork")
	trace, err := os.ReadFile(filepath.Join(dir, "trace"))
	require.NoError(t, err)
	made := creations(t, string(trace))
	for i := range docs {
		d := &docs[i]
		text, err := os.ReadFile(filepath.Join(dir, rootOf(i), "folders.json"))
		require.NoError(t, err)
		var modes map[string]uint32
		require.NoError(t, json.Unmarshal(text, &modes))
		var folders []string
		for folder, mode := range modes {
			if mode == 0o700 {
				folders = append(folders, folder)
			}
		}
		paths, seen := exposed(made, rootOf(i), d.secrets(), folders)
		require.Equal(t, len(d.secrets()), seen, d.name)
		if i < len(docs)-1 {
			require.Empty(t, paths, d.name)
			continue
		}
		pki := "/etc/kubernetes/pki/"
		require.Subset(t, paths, []string{pki + "ca.key", pki + "sa.key", pki + "install.key"},
			d.name)
	}
	// All is in place in the end, with its content and mode.
	for i := range docs {
		for _, f := range docs[i].node.Files {
			at := filepath.Join(dir, rootOf(i),
				strings.Replace(f.Path, "/usr/local/", "/local/", 1))
			got, err := os.ReadFile(at)
			require.NoError(t, err, docs[i].name)
			require.Equal(t, string(f.Content), string(got), "%s: %s", docs[i].name, f.Path)
			info, err := os.Stat(at)
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(f.Mode), info.Mode().Perm(), "%s: %s", docs[i].name,
				f.Path)
		}
	}
}

// withoutProtection returns the document as if nothing protected what is in /etc/kubernetes.
func withoutProtection(d userData) userData {
	const folder = `"-o", "root", "-g", "root", "--", "/etc/kubernetes/pki"`
	quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(protecting)
	var lines []string
	for line := range strings.Lines(string(d.text)) {
		if !strings.Contains(line, quoted) {
			line = strings.Replace(line, `"0700", `+folder, `"0755", `+folder, 1)
			lines = append(lines, line)
		}
	}
	d.name, d.text = d.name+" without protection", []byte(strings.Join(lines, ""))
	return d
}
