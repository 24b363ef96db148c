package main

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/test/need"
)

// kills is how often each verb is killed. With one, each verb meets one of the other cuts, by
// turns; with more, it meets all of them, and more disks that are full: make test-all.
var kills = flag.Int("kills", 1, "how often TestCutOff kills each verb")

// written is a verb that writes files, and the state that it begins with.
type written struct {
	name    string
	prepare string // shell, where first.yaml is rendered
	command string // arguments of kiln
	check   string // shell; succeeds if the command has done its work
	single  string // the file that is old or new and nothing else, if the command writes but one
	once    bool   // the command refuses to do its work again
	openssl bool   // its state is prepared with openssl
}

var verbs = []written{
	{
		name:    "first render",
		prepare: "rm -r nodes review demo.secrets.yaml demo.public.yaml; mkdir .git",
		command: "render -c first.yaml --out nodes --review review",
		check: "kiln render -c first.yaml --out nodes --review review --check && " +
			"test $(wc -l <.gitignore) = 3",
	},
	{
		name:    "render",
		command: "render -c second.yaml --out nodes --review review",
		check: "kiln render -c second.yaml --out nodes --review review --check && " +
			"! test -e nodes/worker-1",
	},
	{
		name: "report", prepare: "kiln report -c first.yaml --out page.html",
		command: "report -c second.yaml --out page.html", single: "page.html",
		check: "kiln report -c second.yaml --out again.html && cmp page.html again.html",
	},
	{
		name: "iso",
		prepare: "kiln iso nodes --out images; " +
			"kiln render -c second.yaml --out nodes --review review",
		command: "iso nodes --out images",
		check: "kiln iso nodes --out again && cmp again/cp-1.iso images/cp-1.iso && " +
			"cmp again/worker-2.iso images/worker-2.iso",
	},
	{
		name: "netboot",
		prepare: "kiln netboot nodes --url http://10.0.0.5 --out boot; " +
			"kiln render -c second.yaml --out nodes --review review",
		command: "netboot nodes --url http://10.0.0.5 --out boot",
		check:   "kiln netboot nodes --url http://10.0.0.5 --out again && diff -r again boot",
	},
	{
		name: "secrets extend", command: "secrets extend --secrets demo.secrets.yaml --window 160h",
		check: "kiln secrets public --secrets demo.secrets.yaml >now && " +
			"! cmp -s now demo.public.yaml",
	},
	{
		name:    "kubeconfig",
		prepare: "kiln kubeconfig first.yaml --user alice --out alice.conf",
		command: "kubeconfig first.yaml --user alice --group ops --out alice.conf",
		check:   "grep -q client-key-data alice.conf", // a key is new each time
	},
	{
		name: "secrets renew", command: "secrets renew first.yaml",
		check: "kiln secrets public --secrets demo.secrets.yaml >now && " +
			"! cmp -s now demo.public.yaml",
	},
	{
		name: "certs csr", prepare: elsewhere, openssl: true,
		command: "certs csr first.yaml --out requests",
		check:   "kiln certs csr first.yaml --out again && diff -r requests again",
	},
	{
		name: "certs add", openssl: true,
		prepare: elsewhere + "kiln certs csr first.yaml --out requests; mkdir signed; umask 077\n" +
			"for r in requests/ca/*.csr; do openssl x509 -req -in $r -CA ca.crt -CAkey ca.key " +
			"-days 7 -copy_extensions copy -out signed/$(basename $r .csr).crt; done",
		command: "certs add --config first.yaml signed",
		check:   "kiln render -c first.yaml --out nodes",
	},
	{
		name: "secrets rotate", command: "secrets rotate ca encryption -c first.yaml",
		check: "test $(kiln secrets rotate --status -c first.yaml | grep -cw trust) = 2",
		once:  true,
	},
	{
		name: "token renew",
		prepare: "echo '  pools: [{name: blue}]' >>first.yaml; " +
			"kiln render -c first.yaml --out nodes --review review",
		command: "token renew blue -c first.yaml",
		check: "kiln secrets public --secrets demo.secrets.yaml >now && " +
			"! cmp -s now demo.public.yaml",
	},
	{
		name:    "secrets extend, encrypted",
		prepare: encrypted + "kiln secrets encrypt first.yaml --new-recipient $(cat ../key.pub)",
		command: "secrets extend --secrets demo.secrets.yaml.age --identity key --window 160h",
		check: "! test -e demo.secrets.yaml && kiln secrets public --identity key " +
			"--secrets demo.secrets.yaml.age >now && ! cmp -s now demo.public.yaml",
	},
	{
		name:    "secrets encrypt",
		prepare: encrypted + `echo "recipients: [$(cat ../key.pub)]" >>demo.secrets.yaml`,
		command: "secrets encrypt first.yaml --identity key",
		check: "! test -e demo.secrets.yaml && kiln secrets public --identity key " +
			"--secrets demo.secrets.yaml.age | cmp - demo.public.yaml",
	},
	{
		name:    "secrets public",
		prepare: "kiln secrets extend --secrets demo.secrets.yaml --window 160h",
		command: "secrets public --secrets demo.secrets.yaml --out demo.public.yaml",
		single:  "demo.public.yaml",
		check:   "kiln secrets public --secrets demo.secrets.yaml | cmp - demo.public.yaml",
	},
	{
		name: "unpack", command: "unpack nodes/cp-1 --out tree",
		check: "test -e tree/INDEX", once: true,
	},
}

// encrypted gives the configuration a recipient, whose identity is in the file key.
const encrypted = "cp ../key . && echo '  secrets: {recipients: ['$(cat ../key.pub)']}' " +
	">>first.yaml\n"

// elsewhere gives the cluster a CA whose key is not in the bundle.
const elsewhere = `rm -r nodes review demo.secrets.yaml demo.public.yaml; umask 077
echo '  certificates: {signing: offline}' >>first.yaml
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=ca \
  -addext keyUsage=critical,keyCertSign,cRLSign
kiln secrets import first.yaml --new-cluster --external-ca ca --ca ca.crt
`

// machines is a configuration with a control plane and one worker.
func machines(worker string, pods int) string {
	return fmt.Sprintf(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.demo.example.com
  machines: {os: debian, platform: metal, kubelet: {maxPods: %d}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11], mac: "52:54:00:00:00:11"}
  - {name: %s, role: worker, addresses: [10.0.0.21], mac: "52:54:00:00:00:21"}
`, pods, worker)
}

// bench is where verbs are cut off.
type bench struct {
	kiln     string // the program
	dir      string // a folder for each state
	rendered string // a state that most verbs begin with
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{kiln: program(t), dir: t.TempDir()}
	b.rendered = filepath.Join(b.dir, "rendered")
	require.NoError(t, os.Mkdir(b.rendered, 0o755))
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for name, text := range map[string]string{
		"key": key.String(), "key.pub": key.Recipient().String(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
	}
	for name, text := range map[string]string{
		"first.yaml": machines("worker-1", 64), "second.yaml": machines("worker-2", 99),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(b.rendered, name), []byte(text), 0o600))
	}
	b.must(t, b.rendered, `set -e
kiln render -c first.yaml --out nodes --review review
kiln secrets public --secrets demo.secrets.yaml --out demo.public.yaml`)
	return b
}

// shell runs a script in a folder.
func (b *bench) shell(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOGC=400")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs a script that has to succeed.
func (b *bench) must(t *testing.T, dir, script string) {
	t.Helper()
	out, err := b.shell(t, dir, script)
	require.NoError(t, err, "%s\n%s", script, out)
}

// succeeds reports whether a script does.
func (b *bench) succeeds(t *testing.T, dir, script string) bool {
	t.Helper()
	_, err := b.shell(t, dir, script)
	return err == nil
}

// begin makes the state that a verb begins with.
func (b *bench) begin(t *testing.T, v *written) string {
	t.Helper()
	dir := b.copied(t, b.rendered, strings.ReplaceAll(v.name, " ", "-"))
	b.must(t, dir, "set -e\n"+v.prepare)
	return dir
}

// copied is a copy of a state, modes and all.
func (b *bench) copied(t *testing.T, state, name string) string {
	t.Helper()
	dir := state + "-" + name
	b.must(t, b.dir, fmt.Sprintf("cp -a '%s' '%s'", state, dir))
	return dir
}

// public reports whether everybody may read a file of a state.
func public(name string) bool {
	name = strings.TrimSuffix(name, ".kiln-new")
	return strings.HasPrefix(name, "review/") || strings.HasPrefix(name, ".git") ||
		name == "page.html" || name == "demo.public.yaml"
}

// whole holds a state after a cut to what must be true of it, whenever the cut came.
func whole(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"demo.secrets.yaml", "demo.secrets.yaml.age"} {
		source := vault.Source{
			Secrets: filepath.Join(dir, name),
			Keys:    &vault.Keys{Path: filepath.Join(dir, "key")},
		}
		if _, err := os.Lstat(source.Secrets); err == nil {
			_, err := source.Read()
			require.NoError(t, err)
		}
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if name, _ := filepath.Rel(dir, path); err == nil && !public(name) {
			require.Zero(t, info.Mode().Perm()&0o077, name)
		}
		return err
	}))
}

// mended runs the command again, which has to succeed, and looks for what the cut-off run left.
func (b *bench) mended(t *testing.T, v *written, dir string) {
	t.Helper()
	if !v.once || !b.succeeds(t, dir, v.check) {
		b.must(t, dir, "kiln "+v.command)
	}
	whole(t, dir)
	b.must(t, dir, v.check)
	left, err := b.shell(t, dir, "find . -name '*.kiln-new'")
	require.NoError(t, err)
	require.Empty(t, left, "left over")
}

// TestCutOff kills every verb that writes, and lets it run out of room or takes the right to write
// from it. What lies there is then old or new or mended by the same command, the bundle is whole,
// and nobody else can read it.
func TestCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range verbs {
		v := &verbs[i]
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			if v.openssl {
				need.Program(t, "openssl")
			}
			c := &cut{bench: b, written: v, state: b.begin(t, v)}
			c.done = b.copied(t, c.state, "done")
			start := time.Now()
			b.must(t, c.done, "kiln "+v.command)
			took := time.Since(start)
			t.Run("killed", func(t *testing.T) { c.killed(t, took) })
			for j, other := range []struct {
				name string
				test func(t *testing.T)
			}{{"file too large", c.limited}, {"full disk", c.full}, {"read only", c.readOnly}} {
				if *kills > 1 || i%3 == j {
					t.Run(other.name, other.test)
				}
			}
		})
	}
}

// cut is one verb, with the states before and after it.
type cut struct {
	*bench
	*written
	state, done string
}

// holds holds a state to what must be true of it after a cut, and mends it.
func (c *cut) holds(t *testing.T, dir string) {
	t.Helper()
	whole(t, dir)
	if c.single != "" {
		old := read(t, filepath.Join(c.state, c.single))
		now := read(t, filepath.Join(c.done, c.single))
		require.Contains(t, []string{old, now}, read(t, filepath.Join(dir, c.single)))
	}
	c.mended(t, c.written, dir)
	require.NoError(t, os.RemoveAll(dir))
}

// killed kills the verb at moments drawn at random: every other one while it writes.
func (c *cut) killed(t *testing.T, took time.Duration) {
	for n := range *kills {
		dir := c.copied(t, c.state, fmt.Sprint("killed-", n))
		c.kill(t, dir, c.command, time.Duration(rand.Int64N(int64(took))), n%2 == 0)
		if n%4 == 3 && c.name == "render" { // another configuration finds its way as well
			whole(t, dir)
			c.must(t, dir, "kiln render -c first.yaml --out nodes --review review")
		}
		c.holds(t, dir)
	}
}

// limited ends the verb half way through a file.
func (c *cut) limited(t *testing.T) {
	blocks := []int{9, 0, 1, 40} // of 512 bytes, or of 1024
	for _, n := range blocks[:min(*kills, len(blocks))] {
		dir := c.copied(t, c.state, fmt.Sprint("limited-", n))
		out, err := c.shell(t, dir,
			fmt.Sprintf("ulimit -f %d; exec kiln %s >/dev/null", n, c.command))
		if n == 0 {
			require.Error(t, err)
		}
		require.NotContains(t, out, "PRIVATE KEY")
		c.holds(t, dir)
	}
}

// full leaves the verb a little room on a disk.
func (c *cut) full(t *testing.T) {
	rooms := []int{16, 0, 4, 100} // KiB
	for _, n := range rooms[:min(*kills, len(rooms))] {
		dir := c.copied(t, c.state, fmt.Sprint("full-", n))
		err := c.elsewhere(t, c.state, dir, fmt.Sprintf(
			`dd if=/dev/zero of=rest bs=1024 count=%d
			dd if=/dev/zero of=ballast bs=1024; rm rest
			kiln %s; code=$?; rm ballast; exit $code`, n, c.command))
		if n == 0 {
			require.Error(t, err)
		}
		c.holds(t, dir)
	}
}

// readOnly lets the verb write nothing: all stays as it was.
func (c *cut) readOnly(t *testing.T) {
	dir := c.copied(t, c.state, "read-only")
	if os.Geteuid() != 0 { // modes do not keep root out
		c.must(t, dir, "find . -type d -exec chmod a-w {} +")
		_, err := c.shell(t, dir, "kiln "+c.command)
		c.must(t, dir, "find . -type d -exec chmod u+w {} +")
		require.Error(t, err)
		c.must(t, dir, fmt.Sprintf("diff -r '%s' '%s'", c.state, dir))
		c.holds(t, dir)
		return
	}
	require.Error(t, c.elsewhere(t, c.state, dir, `mount -o remount,ro "$PWD" && kiln `+c.command+
		`; code=$?; mount -o remount,rw "$PWD"; exit $code`))
	c.must(t, dir, fmt.Sprintf("diff -r '%s' '%s'", c.state, dir))
	c.holds(t, dir)
}

// kill starts a command and kills it after some time, or a part of that after it began to write.
func (b *bench) kill(t *testing.T, dir, command string, after time.Duration, writing bool) {
	t.Helper()
	cmd := exec.Command(b.kiln, strings.Fields(command)...)
	cmd.Dir = dir
	ended := make(chan error, 1)
	require.NoError(t, cmd.Start())
	go func() { ended <- cmd.Wait() }()
	for writing && !temporary(dir) {
		select {
		case <-ended:
			return
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
	if writing {
		after /= 20
	}
	select {
	case <-ended:
	case <-time.After(after):
		_ = cmd.Process.Kill()
		<-ended
	}
}

// temporary reports whether a file or folder that is not whole lies in a state.
func temporary(dir string) bool {
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, depth+".kiln-new"))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// elsewhere runs a script in a copy of a state on a small file system of its own, and brings what
// it left to dir. It skips the test where no such file system can be made.
func (b *bench) elsewhere(t *testing.T, state, dir, script string) error {
	t.Helper()
	need.Right(t, need.OwnFiles)
	mount := dir + "-mount"
	require.NoError(t, os.Mkdir(mount, 0o700))
	out, err := b.shell(t, b.dir, fmt.Sprintf(`unshare -m sh -c '
set -e
mount -t tmpfs -o size=4m none "%[2]s"
cp -a "%[1]s/." "%[2]s"
cd "%[2]s"
code=0; sh -c '\''%[4]s'\'' || code=$?
rm -rf "%[3]s"; cp -a "%[2]s" "%[3]s"; chmod 755 "%[3]s"
exit $code'`, state, mount, dir, script))
	require.NotContains(t, out, "PRIVATE KEY")
	t.Log(out)
	return err
}
