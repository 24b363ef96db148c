package serve_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render"
)

// TestOlderInitrd: an initrd must hold the present document, as it is or inside a configuration
// that installs it. A server does not start with an older one. It gives nobody an older one that
// comes later.
func TestOlderInitrd(t *testing.T) {
	t.Parallel()
	dir := renderedFolder(t, []render.Entry{
		{Node: "cp-1", Document: "cp-1/config.ign"}, {Node: "cp-2", Document: "cp-2/config.ign"},
		{Node: "small", Pool: true, Document: "pools/small/config.ign"},
	}, map[string]string{
		"cp-1/config.ign": "one", "cp-2/config.ign": "two", "pools/small/config.ign": "three",
	})
	netboot := t.TempDir()
	open := func() error {
		_, err := serve.New([]string{dir, netboot}, serve.Options{
			State: filepath.Join(dir, "served.json"),
		})
		return err
	}
	write(t, netboot, map[string]string{
		"initrd/cp-1.cpio.gz": initrd(base64.StdEncoding.EncodeToString([]byte("one"))),
		"initrd/cp-2.cpio.gz": initrd("older"), "initrd/pools/small.cpio.gz": "not compressed",
	})
	require.EqualError(t, open(), filepath.Join(netboot, "initrd/cp-2.cpio.gz")+
		" and 1 more are of an older render; run kiln netboot again")
	write(t, netboot, map[string]string{"initrd/pools/small.cpio.gz": initrd("three")})
	require.EqualError(t, open(), filepath.Join(netboot, "initrd/cp-2.cpio.gz")+
		" is of an older render; run kiln netboot again")
	write(t, netboot, map[string]string{"initrd/cp-2.cpio.gz": initrd("two")})
	require.NoError(t, open())

	dir = example(t)
	r := start(t, dir, nil)
	write(t, dir, map[string]string{"initrd/cp-1.cpio.gz": initrd("older")})
	status, _ := r.get(t, "/initrd/cp-1.cpio.gz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	write(t, dir, map[string]string{
		"initrd/cp-1.cpio.gz": initrd(`{"one":1}`), "cp-1/config.ign": "newer",
	})
	status, _ = r.get(t, "/initrd/cp-1.cpio.gz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	write(t, dir, map[string]string{"cp-1/config.ign": `{"one":1}`})
	r.requireGiven(t, "/initrd/cp-1.cpio.gz", initrd(`{"one":1}`))
}

// TestOnceWithInitrd: an initrd and the document in it count as one document. A machine gets one of
// them once, and the other one is asked for again.
func TestOnceWithInitrd(t *testing.T) {
	t.Parallel()
	const document, archive = "/cp-1/user-data", "/initrd/cp-1.cpio.gz"
	for first, second := range map[string]string{document: archive, archive: document} {
		dir := cluster(t)
		r := start(t, dir, nil)
		status, _ := r.from(t, "127.0.0.2", first)
		require.Equal(t, http.StatusOK, status, first)
		status, _ = r.from(t, "127.0.0.3", second)
		require.Equal(t, http.StatusNotFound, status, second)
		require.Regexp(t, `^cp-1/user-data( \(in initrd/cp-1.cpio.gz\))? was asked for again by `+
			`127.0.0.3, and 127.0.0.2 has had it since`, r.warnings.String())
		require.Equal(t, []string{"small"}, r.Left())
		require.NoError(t, r.stop())
		r = start(t, dir, nil)
		r.requireRefused(t, first, second)
		require.NoError(t, r.stop())
		r = start(t, dir, func(o *serve.Options) { o.Again = []string{"cp-1"} })
		status, _ = r.get(t, second)
		require.Equal(t, http.StatusOK, status, second)
	}
	r := start(t, example(t), func(o *serve.Options) { o.PoolLimit = 1 })
	r.requireGiven(t, "/pools/small/user-data?uuid=a", "#cloud-config\n{}\n")
	r.requireLogged(t, map[string]any{"node": "small", "decision": "served"})
	r.requireRefused(t, "/initrd/pools/small.cpio.gz?uuid=b", "/initrd/pools/small.cpio.gz?uuid=a")
}

// TestMissing: the server knows from its start which files the scripts of kiln netboot name and it
// does not have. Addresses of other servers, and those with a variable of iPXE, are none of its
// files.
func TestMissing(t *testing.T) {
	t.Parallel()
	dir := example(t)
	missing := func() []string {
		s, err := serve.New([]string{dir}, serve.Options{State: filepath.Join(dir, "served.json")})
		require.NoError(t, err)
		return s.Missing()
	}
	require.Empty(t, missing())
	write(t, dir, map[string]string{"netboot.json": `{
		"kind": "Netboot", "url": "http://10.0.0.5:8080", "machines": [
		{"node": "cp-1", "script": "ipxe/mac-52-54-00-12-34-56.ipxe",
			"kernel": "http://10.0.0.5:8080/images/flatcar/k",
			"initrds": ["http://10.0.0.5:8080/images/flatcar/i", "http://10.0.0.5:8080/img/deep"],
			"args": ["initrd=main", "ignition.config.url=http://10.0.0.5:8080/cp-1/config.ign"]},
		{"node": "cp-2", "script": "ipxe/gone.ipxe",
			"kernel": "http://10.0.0.5:8080/images/flatcar/k",
			"initrds": ["http://images.example.com/i",
				"http://10.0.0.5:8080/images/${buildarch}/i"],
			"args": ["coreos.live.rootfs_url=http://10.0.0.5:8080/images/flatcar/r"]}]}`})
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	require.Equal(t,
		at("images/flatcar/i", "images/flatcar/k", "images/flatcar/r", "img/deep",
			"ipxe/gone.ipxe"),
		missing())
	write(t, dir, map[string]string{
		"images/flatcar/k": "", "images/flatcar/i": "", "images/flatcar/r": "",
	})
	require.Equal(t, at("img/deep", "ipxe/gone.ipxe"), missing())
}

// TestInstalled: a machine that installs itself gets the script for that until its document has
// been given, and then one that boots its disk, also after another render and a new start. --again
// gives it both once more. A machine that runs from RAM keeps its script.
func TestInstalled(t *testing.T) {
	t.Parallel()
	const (
		path, script = "/ipxe/mac-52-54-00-12-34-56.ipxe", "#!ipxe\nboot\n"
		disk         = "#!ipxe\necho kiln: cp-1 has its document, so it is not installed " +
			"again, and boots its disk\n" +
			"echo kiln: to install it again: kiln serve --again cp-1\nexit 1\n"
	)
	state := filepath.Join(t.TempDir(), "served.json")
	serving := func(document, installs string, again ...string) *running {
		dir := renderedFolder(t, []render.Entry{{Node: "cp-1", Document: "cp-1/config.ign"}},
			map[string]string{
				"cp-1/config.ign": document, path: script,
				"netboot.json": `{"kind": "Netboot", "url": "http://10.0.0.5:8080", "machines": [
					{"node": "cp-1", "script": "` + path[1:] + `", "kernel": "http://a.test/k"` +
					installs + `}]}`,
			})
		return start(t, dir, func(o *serve.Options) { o.State, o.Again = state, again })
	}
	const installs = `, "disk": "/dev/sda", "install": ["http://10.0.0.5:8080/images/flatcar/i"]`
	r := serving("one", installs)
	require.Len(t, r.Missing(), 2)
	require.Contains(t, r.Missing()[1], "/images/flatcar/i")
	r.requireGiven(t, path, script)
	r.requireGiven(t, path, script)
	r.requireGiven(t, "/cp-1/config.ign", "one")
	r.requireGivenSoon(t, path, disk)
	r.requireLogged(t, map[string]any{"document": path[1:], "decision": "served",
		"reason": "the machine has its document, and boots its disk"})
	require.NoError(t, r.stop())

	r = serving("two", installs)
	r.requireGiven(t, path, disk)
	require.NoError(t, r.stop())

	r = serving("two", installs, "cp-1")
	r.requireGiven(t, path, script)
	r.requireGiven(t, "/cp-1/config.ign", "two")
	r.requireGivenSoon(t, path, disk)
	require.NoError(t, r.stop())

	r = serving("two", "")
	r.requireGiven(t, path, script)
}

// TestPrivate: files for everybody are what a network boot needs. The server withholds anything
// else from their folders, and says so at its start.
func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := example(t)
	write(t, dir, map[string]string{
		"images/flatcar/kernel": "MZ\x00", "images/flatcar/admin.conf": "kind: Config\n",
		"images/flatcar/admin.gz": initrd("kind: Config\n"),
		"ipxe/secrets.ipxe":       "kind: Secrets\n", "installer/cp-1.ign": `{"one":1}`,
	})
	r := start(t, dir, nil)
	const text = ": neither a kernel nor an initrd: it is text"
	require.Equal(t, []string{
		filepath.Join(dir, "images/flatcar/admin.conf") + text,
		filepath.Join(dir, "images/flatcar/admin.gz") + text,
		filepath.Join(dir, "installer/cp-1.ign") + ": not a configuration of kiln netboot that " +
			"installs a machine",
		filepath.Join(dir, "ipxe/secrets.ipxe") + ": not a script of iPXE, which begins with " +
			"#!ipxe",
	}, r.Withheld())
	r.requireRefused(t, "/images/flatcar/admin.conf", "/images/flatcar/admin.gz",
		"/installer/cp-1.ign", "/ipxe/secrets.ipxe")
	write(t, dir, map[string]string{"images/flatcar/kernel": "kind: Config\n"})
	status, body := r.get(t, "/images/flatcar/kernel")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, body, "Config")
}

// TestUnreadIndex: the server does not start with an index of kiln netboot that it cannot read: it
// would not know which machines have installed themselves.
func TestUnreadIndex(t *testing.T) {
	t.Parallel()
	const damaged = "damaged, or not written by kiln netboot; run kiln netboot again"
	write := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	for name, row := range map[string]struct {
		make func(path string) error
		want string
	}{
		"a folder": {
			func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file",
		},
		"cut off": {write(`{"kind":"Netboot`), damaged},
		"empty":   {write(""), damaged},
		"another": {write(`{"kind":"Inventory"}`), damaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := example(t)
			path := filepath.Join(dir, "netboot.json")
			require.NoError(t, row.make(path))
			_, err := serve.New([]string{dir}, serve.Options{
				State: filepath.Join(t.TempDir(), "state"),
			})
			require.ErrorContains(t, err, path+": "+row.want)
		})
	}
}
