package cloudinit

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/test/need"
)

// TestProtected: a folder that only its owner enters protects its files. All other secrets are made
// empty before.
func TestProtected(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		dir  node.Dir
		file node.File
		want bool // protected by the folder
	}{
		{"root's folder", node.Dir{Path: "/a", Mode: 0o700}, node.File{Path: "/a/k"}, true},
		{"far above", node.Dir{Path: "/a", Mode: 0o700}, node.File{Path: "/a/b/c/k"}, true},
		{"root's folder, a user's file", node.Dir{Path: "/a", Mode: 0o700},
			node.File{Path: "/a/k", User: "etcd"}, true},
		{"its own user's folder", node.Dir{Path: "/a", Mode: 0o700, User: "etcd"},
			node.File{Path: "/a/k", User: "etcd"}, true},
		{"another user's folder", node.Dir{Path: "/a", Mode: 0o700, User: "app"},
			node.File{Path: "/a/k"}, false},
		{"a folder for its group", node.Dir{Path: "/a", Mode: 0o750},
			node.File{Path: "/a/k"}, false},
		{"a folder to pass through", node.Dir{Path: "/a", Mode: 0o711},
			node.File{Path: "/a/k"}, false},
		{"a folder with a longer name", node.Dir{Path: "/a", Mode: 0o700},
			node.File{Path: "/ab/k"}, false},
		{"for a group", node.Dir{Path: "/b", Mode: 0o700},
			node.File{Path: "/a/k", Mode: 0o640, Group: "app"}, false},
		{"for nobody", node.Dir{Path: "/b", Mode: 0o700}, node.File{Path: "/a/k"}, false},
	} {
		row.file.Secret = "a secret"
		n := &node.Node{Dirs: []node.Dir{row.dir}, Files: []node.File{row.file,
			{Path: "/public", Mode: 0o644}, {Path: "/closed", Mode: 0o600}}}
		c := userData(n)
		var made []string
		for _, command := range c.Bootcmd {
			if isProtectCommand(command) {
				made = append(made, command[4:]...)
			}
		}
		if row.want {
			require.Empty(t, made, row.name)
		} else {
			require.Equal(t, []string{row.file.Path}, made, row.name)
		}
		require.NoError(t, checkProtected(n, c.Bootcmd), row.name)
		doc, err := new(Packer).Pack(n, 0, false)
		require.NoError(t, err, row.name)
		got, err := Unpack(doc)
		require.NoError(t, err, row.name)
		require.Equal(t, n.Delivered(), got, row.name)

		// Without the command that protects it, the document is refused.
		kept := c.Bootcmd[:0:0]
		for _, command := range c.Bootcmd {
			if !isProtectCommand(command) && (len(command) != 10 || !row.want) {
				kept = append(kept, command)
			}
		}
		require.EqualError(t, checkProtected(n, kept), "others could read these files before "+
			"they have their modes, because bootcmd does not protect them: "+row.file.Path,
			row.name)
	}
}

// TestProtectsNoOther: a document that protects a path that is not one of its closed files was
// changed. One of an older kiln protects none.
func TestProtectsNoOther(t *testing.T) {
	t.Parallel()
	n := &node.Node{Files: []node.File{
		{Path: "/etc/a", Mode: 0o600, Secret: "a"}, {Path: "/etc/b", Mode: 0o600, Secret: "b"},
		{Path: "/etc/c", Mode: 0o644}}}
	doc, err := new(Packer).Pack(n, 0, false)
	require.NoError(t, err)
	const list = `"--", "/etc/a", "/etc/b"]`
	require.Equal(t, 1, strings.Count(string(doc), list))
	for name, other := range map[string]string{
		"another":    `"--", "/etc/a", "/etc/b", "/etc/shadow"]`,
		"readable":   `"--", "/etc/a", "/etc/b", "/etc/c"]`,
		"none of it": `"--"]`,
	} {
		_, err := Unpack([]byte(strings.Replace(string(doc), list, other, 1)))
		require.ErrorContains(t, err, "bootcmd: command 2 is none that kiln writes", name)
	}
	var old []string
	for line := range strings.Lines(string(doc)) {
		if !strings.Contains(line, list) {
			old = append(old, line)
		}
	}
	got, err := Unpack([]byte(strings.Join(old, "")))
	require.NoError(t, err)
	require.Equal(t, n.Delivered(), got)
}

// protect runs the command that protects files below dir, with a shell, as cloud-init's umask is.
// uid stands for root.
func protect(t *testing.T, shell, dir string, uid int, files ...string) {
	t.Helper()
	var paths []string
	for _, f := range files {
		paths = append(paths, filepath.Join(dir, f))
	}
	command := protectCommand(paths)
	text := strings.NewReplacer("/var/lib/kiln", filepath.Join(dir, "lib"),
		" 0'", fmt.Sprintf(" %d'", uid)).Replace(command[2])
	words := append(append([]string{"-c", `umask 022; exec "$@"`, "--"}, need.Words(shell)...),
		append([]string{"-c", text}, command[3:]...)...)
	out, err := exec.Command("sh", words...).CombinedOutput()
	require.NoError(t, err, "%s: %s", shell, out)
	require.Empty(t, string(out), shell)
}

// TestProtect runs the command in folders that have files, links and nothing, under every shell.
func TestProtect(t *testing.T) {
	t.Parallel()
	uid := os.Getuid()
	for _, shell := range need.Usable(t) {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		write := func(name, content string, mode fs.FileMode) {
			require.NoError(t, os.WriteFile(at(name), []byte(content), 0o600))
			require.NoError(t, os.Chmod(at(name), mode))
		}
		look := func(name, content string, mode fs.FileMode) uint64 {
			t.Helper()
			info, err := os.Lstat(at(name))
			require.NoError(t, err, shell)
			require.Equal(t, mode, info.Mode(), "%s: %s", shell, name)
			got, err := os.ReadFile(at(name))
			require.NoError(t, err, shell)
			require.Equal(t, content, string(got), "%s: %s", shell, name)
			return info.Sys().(*syscall.Stat_t).Ino
		}
		for name, mode := range map[string]fs.FileMode{"key": 0o600, "program": 0o700, "none": 0} {
			write(name, "kept", mode)
		}
		write("readable", "of the image", 0o644)
		write("for a group", "of the image", 0o640)
		write("other", "of two names", 0o600)
		require.NoError(t, os.Link(at("other"), at("second name")))
		require.NoError(t, syscall.Mkfifo(at("pipe"), 0o644))
		write("target", "of a link", 0o644)
		require.NoError(t, os.Symlink("target", at("link")))
		require.NoError(t, os.Symlink("nowhere", at("dangling")))
		open, err := os.Open(at("readable"))
		require.NoError(t, err)
		defer open.Close()
		key := look("key", "kept", 0o600)
		all := []string{"new", "folders of/it's own/$(new)", "key", "program", "none", "readable",
			"for a group", "link", "dangling", "second name", "pipe"}
		for range 2 {
			protect(t, shell, dir, uid, all...)
			look("new", "", 0o600)
			look("folders of/it's own/$(new)", "", 0o600)
			for _, folder := range []string{"folders of", "folders of/it's own"} {
				info, err := os.Stat(at(folder))
				require.NoError(t, err)
				require.Equal(t, fs.FileMode(0o755), info.Mode().Perm(), "as write_files makes it")
			}
			require.Equal(t, key, look("key", "kept", 0o600), "the same file")
			look("program", "kept", 0o700)
			look("for a group", "", 0o600)
			look("second name", "", 0o600)
			look("other", "of two names", 0o600)
			look("pipe", "", 0o600)
			look("target", "of a link", 0o644)
			require.NoFileExists(t, at("nowhere"))
		}
		look("readable", "", 0o600)
		// Another user made this file, and may have it open.
		write("squat", "of another user", 0o600)
		protect(t, shell, dir, uid+1, "squat")
		look("squat", "", 0o600)
		// cloud-init truncates what it finds. Who opened the image's file has another one.
		write("readable", "secret", 0o600)
		seen := make([]byte, 100)
		count, err := open.Read(seen)
		require.NoError(t, err)
		require.Equal(t, "of the image", string(seen[:count]), shell)

		// Once the machine has verified its files, the command does nothing.
		require.NoError(t, os.Mkdir(at("lib"), 0o700))
		write("lib/state", "", 0o600)
		write("readable", "secret", 0o644)
		require.NoError(t, os.Remove(at("new")))
		protect(t, shell, dir, uid, append(all, "away/new")...)
		look("readable", "secret", 0o644)
		require.NoFileExists(t, at("new"))
		require.NoDirExists(t, at("away"))
	}
}
