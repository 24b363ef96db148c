package cloudinit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

// commands returns the lists of words in the given part of n's document.
func commands(t *testing.T, n *node.Node, part string) [][]string {
	t.Helper()
	doc, err := new(cloudinit.Packer).Pack(n, 0, false)
	require.NoError(t, err)
	var c map[string]any
	require.NoError(t, yaml.Unmarshal(doc, &c))
	var out [][]string
	for _, command := range c[part].([]any) {
		var words []string
		for _, word := range command.([]any) {
			words = append(words, word.(string))
		}
		out = append(out, words)
	}
	return out
}

// startNow runs the last command of n's bootcmd in dir, with a systemd-run that waits for nothing.
// Paths below /var/lib/kiln are below lib, and so are those below /run. It returns what systemd-run
// was called with.
func startNow(t *testing.T, n *node.Node, dir, lib string) string {
	t.Helper()
	bin := t.TempDir()
	script.Write(t, filepath.Join(bin, "systemd-run"), `#!/bin/sh
echo "$*" >>"${0%/*}/called"
while [ "$1" != sh ]; do shift; done
exec "$@"
`)
	all := commands(t, n, "bootcmd")
	words := withLib(all[len(all)-1], lib)
	words[2] = strings.ReplaceAll(words[2], "/run/", lib+"/")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	called, _ := os.ReadFile(filepath.Join(bin, "called"))
	return string(called)
}

// TestLinks makes links where there is nothing, a file, and a link to nowhere, once the files are
// written; and none once the machine has verified its files, when an administrator may have removed
// one.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir, lib := t.TempDir(), t.TempDir()
	file, dangling := filepath.Join(dir, "file"), filepath.Join(dir, "dangling")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink("nowhere", dangling))
	missing := filepath.Join(dir, "-new folder", "$(touch injected); 'x' \"y\"\nz")
	n := &node.Node{Links: []node.Link{
		{Path: missing, Target: "-target `x`"}, {Path: file, Target: "new"},
		{Path: dangling, Target: "new"},
	}}
	called := startNow(t, n, dir, lib)
	require.Equal(t, "--no-block -u kiln-start -p After=cloud-config.target sh "+lib+
		"/kiln-start\n", called)
	for name, want := range map[string]string{missing: "-target `x`", dangling: "nowhere"} {
		got, err := os.Readlink(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(kept))
	assert.NoFileExists(t, filepath.Join(dir, "injected"))

	require.NoError(t, os.WriteFile(filepath.Join(lib, "state"), nil, 0o600))
	require.NoError(t, os.Remove(missing))
	require.Empty(t, startNow(t, n, dir, lib))
	assert.NoFileExists(t, missing)
}

// TestEnabledUnits: the link that enables a unit of the machine is made by a line that says both.
// Other links and other enabled units have lines of their own. All are read back.
func TestEnabledUnits(t *testing.T) {
	t.Parallel()
	const units = "/etc/systemd/system/"
	n := &node.Node{
		Links: []node.Link{
			{Path: units + "multi-user.target.wants/a.service", Target: "../a.service"},
			{Path: units + "multi-user.target.wants/b.service", Target: "/lib/b.service"},
			{Path: units + "multi-user.target.wants/c.service", Target: "../c.service"},
			{Path: units + "timers.target.wants/a.service", Target: "../a.service"},
		},
		Units: []node.Unit{{Name: "a.service", Enabled: true, Started: true},
			{Name: "b.service", Enabled: true}},
	}
	all := commands(t, n, "bootcmd")
	require.Equal(t, []string{
		"want multi-user.target a.service",
		"link /lib/b.service " + units + "multi-user.target.wants/b.service",
		"link ../c.service " + units + "multi-user.target.wants/c.service",
		"link ../a.service " + units + "timers.target.wants/a.service",
		"systemctl --no-reload enable -- b.service",
		"systemctl daemon-reload",
		"systemctl --no-block start -- a.service",
	}, all[len(all)-1][5:])
	doc, err := new(cloudinit.Packer).Pack(n, 0, false)
	require.NoError(t, err)
	got, err := cloudinit.Unpack(doc)
	require.NoError(t, err)
	require.Equal(t, n.Delivered(), got)
}

// TestUserCommand runs the command for a user twice, with stand-ins for the tools that record their
// arguments.
func TestUserCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"getent":   `grep -q "^$1 $2$" "$DIR/known"`,
		"groupadd": `shift 3; echo "group $1" >>"$DIR/known"; echo "groupadd $1" >>"$DIR/log"`,
		"useradd": `for last; do :; done; echo "passwd $last" >>"$DIR/known"; echo "useradd $*" ` +
			`>>"$DIR/log"`,
	} {
		script.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+text+"\n")
	}
	for range 2 {
		for _, command := range commands(t,
			&node.Node{Users: []node.User{{Name: "etcd", ID: 2379, Home: "/var/a b"},
				{Name: "probe", ID: 990}}}, "bootcmd") {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = []string{"DIR=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	assert.Equal(t, `groupadd etcd
useradd --system --uid 2379 --gid etcd --no-create-home `+
		`--home-dir /var/a b --shell /usr/sbin/nologin etcd
groupadd probe
useradd --system --uid 990 --gid probe --no-create-home --shell /usr/sbin/nologin probe
`, string(log))
}

// TestBeginAgain runs the command that lets a first boot be repeated, on folders of its own.
// cloud-init's marks are removed only while the machine has not verified its files.
func TestBeginAgain(t *testing.T) {
	t.Parallel()
	n := &node.Node{Files: []node.File{{Path: "/a", Mode: 0o600}}}
	command := commands(t, n, "bootcmd")[0]
	dir := t.TempDir()
	sem := filepath.Join(dir, "var/lib/cloud/instance/sem")
	text := strings.NewReplacer("/var/lib", dir+"/var/lib").Replace(command[2])
	marks := func() (names []string) {
		entries, err := os.ReadDir(sem)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	run := func() {
		out, err := exec.Command(command[0], command[1], text).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	all := []string{"config_growpart", "config_scripts_user", "config_write_files"}
	write := func() {
		require.NoError(t, os.MkdirAll(sem, 0o700))
		for _, name := range all {
			require.NoError(t, os.WriteFile(filepath.Join(sem, name), nil, 0o600))
		}
	}
	write()
	run()
	require.Equal(t, all[:2], marks())
	write()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "var/lib/kiln"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "var/lib/kiln/state"), nil, 0o600))
	run()
	require.Equal(t, all, marks())
}

// TestUncover: what a mount hides is moved into it, with modes, over what an older machine left
// there; nothing stays below. Without a mount, and a second time, nothing happens. The line comes
// before all others, and is read back.
func TestUncover(t *testing.T) {
	t.Parallel()
	need.Program(t, need.OwnFiles)
	folder := filepath.Join(t.TempDir(), "kubelet")
	n := &node.Node{
		Name: "a", Files: []node.File{{Path: folder + "/pki/key", Mode: 0o600}},
		Links:       []node.Link{{Path: "/x", Target: "y"}},
		CloudConfig: []byte(`{"mounts":[["LABEL=a","` + folder + `"],["LABEL=b","/data"]]}`),
	}
	all := commands(t, n, "bootcmd")
	lines := all[len(all)-1][5:]
	require.Contains(t, lines[0], " -- "+folder)
	require.NotContains(t, strings.Join(lines[1:], "\n"), "mount --bind")
	cmd := exec.Command("unshare", "--mount", "sh", "-euc", `
mkdir -p "$1/pki" && echo new >"$1/pki/key" && chmod 600 "$1/pki/key" && chmod 700 "$1"
sh -c "$2" && [ -e "$1/pki/key" ]
mount -t tmpfs -o mode=755 none "$1" && mkdir "$1/pki" "$1/kept" && echo old >"$1/pki/key"
sh -c "$2" && sh -c "$2"
stat -c '%a %n' "$1" "$1"/*/key && cat "$1/pki/key" && ls "$1"
umount "$1" && ls "$1" && ! mount | grep kiln-below`, "sh", folder, lines[0])
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "700 "+folder+"\n600 "+folder+"/pki/key\nnew\nkept\npki\n", string(out))

	doc, err := new(cloudinit.Packer).Pack(n, 0, false)
	require.NoError(t, err)
	_, err = cloudinit.Unpack(doc)
	require.NoError(t, err)
	for _, other := range []string{"/data", "/"} {
		changed := strings.Replace(string(doc), " -- "+folder, " -- "+other, 1)
		_, err = cloudinit.Unpack([]byte(changed))
		require.ErrorContains(t, err, "bootcmd", other)
	}
}
