package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render"
)

// TestFolders: a mistake in the folders or in the state is found before anything is served.
func TestFolders(t *testing.T) {
	t.Parallel()
	dir := example(t)
	opened := func(o serve.Options, dirs ...string) error {
		_, err := serve.New(dirs, o)
		return err
	}
	good := serve.Options{State: filepath.Join(t.TempDir(), "state")}
	require.NoError(t, opened(good, dir))
	require.ErrorContains(t, opened(good, t.TempDir()), "no folder of documents")
	require.ErrorContains(t, opened(good, filepath.Join(dir, "absent")), "absent: no such file")
	require.ErrorContains(t, opened(good, dir, example(t)), "one URL cannot be both")
	require.ErrorContains(t, opened(serve.Options{
		State: good.State, Again: []string{"cp-9"},
	}, dir), "cp-9: no machine or pool of prod")
	require.ErrorContains(t, opened(serve.Options{
		State: filepath.Join(dir, "boot.ipxe"),
	}, dir), "not a state of kiln serve")
	require.NoFileExists(t, good.State)
	s, err := serve.New([]string{dir}, serve.Options{State: filepath.Join(dir, "absent", "state")})
	require.NoError(t, err)
	require.ErrorContains(t, s.Begin(io.Discard), "the state cannot be kept")
	write(t, dir, map[string]string{"cp-1/config.ign": "changed", "cp-2/config.ign": "changed"})
	err = opened(good, dir)
	require.ErrorContains(t, err,
		filepath.Join(dir, "cp-1/config.ign")+": it is not what inventory.json lists")
	require.ErrorContains(t, err, "cp-2/config.ign")
}

// rendered changes documents in a folder, and lists them in its inventory, as kiln render does.
func rendered(t *testing.T, dir string, documents map[string]string) {
	t.Helper()
	inv, err := render.ReadInventory(dir)
	require.NoError(t, err)
	for i := range inv.Documents {
		e := &inv.Documents[i]
		if text, ok := documents[e.Document]; ok {
			sum := sha256.Sum256([]byte(text))
			e.SHA256 = hex.EncodeToString(sum[:])
		}
	}
	text, err := json.Marshal(inv)
	require.NoError(t, err)
	write(t, dir, documents)
	write(t, dir, map[string]string{"inventory.json": string(text)})
}

// TestRestart: after a restart of the server, a fetched document counts as fetched. Exceptions are
// a machine that --again names, and a document that has changed.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := example(t)
	r := start(t, dir, nil)
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
	r.requireGiven(t, "/cp-2/config.ign", `{"two":2}`)
	require.NoError(t, r.stop())
	info, err := os.Stat(filepath.Join(dir, "served.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	r = start(t, dir, func(o *serve.Options) { o.Again = []string{"cp-2"} })
	r.requireRefused(t, "/cp-1/config.ign")
	r.requireGiven(t, "/cp-2/config.ign", `{"two":2}`)
	require.NoError(t, r.stop())

	const other = `{"one":"another"}`
	rendered(t, dir, map[string]string{
		"cp-1/config.ign": other, "initrd/cp-1.cpio.gz": initrd(other),
	})
	r = start(t, dir, nil)
	r.requireGiven(t, "/cp-1/config.ign", other)
	r.requireRefused(t, "/cp-2/config.ign")
}

// TestRenderedMeanwhile: after a render the running server gives no document, and raises an alarm
// as soon as a machine asks. A machine that has the older document has not fetched the new one.
func TestRenderedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := example(t)
	r := start(t, dir, nil)
	r.requireGiven(t, "/cp-2/config.ign", `{"two":2}`)
	r.requireGiven(t, "/worker-1/user-data", "#cloud-config\n")
	left := func(names ...string) { // the server counts a fetch after its answer
		t.Helper()
		require.Eventually(t, func() bool {
			return slices.Equal(names, r.Left())
		}, time.Minute, time.Millisecond)
	}
	left("cp-1", "small")
	rendered(t, dir, map[string]string{
		"cp-1/config.ign": "newer", "cp-2/config.ign": "newer", "worker-1/user-data": "newer",
		"initrd/cp-1.cpio.gz": initrd("newer"),
	})
	for range 2 {
		status, _ := r.get(t, "/cp-1/config.ign")
		require.Equal(t, http.StatusServiceUnavailable, status)
	}
	require.Equal(t, "cp-1/config.ign cannot be given, and 127.0.0.1 waits for it: it is not "+
		"what inventory.json lists, or listed when the server began; when kiln render has ended, "+
		"end kiln serve and start it again\n",
		r.warnings.String())
	require.Equal(t, []string{
		"asked for and not given, because the folder has changed or cannot be read: 2",
	}, r.Alarms())
	require.Equal(t, []string{"cp-1", "cp-2", "small", "worker-1"}, r.Left())
	require.NoError(t, r.stop())

	r = start(t, dir, nil)
	require.Equal(t, []string{"cp-1", "cp-2", "small", "worker-1"}, r.Left())
	r.requireGiven(t, "/worker-1/network-config", "version: 2\n")
	r.requireGiven(t, "/worker-1/user-data", "newer")
	left("cp-1", "cp-2", "small")
	r.requireRefused(t, "/worker-1/network-config")
}

// TestChanging: a machine that asks while its folder is being written gets 503, so that it asks
// again. Ignition gives up after a 404.
func TestChanging(t *testing.T) {
	t.Parallel()
	dir := example(t)
	r := start(t, dir, nil)
	write(t, dir, map[string]string{"cp-1/config.ign": "half"})
	status, _ := r.get(t, "/cp-1/config.ign")
	require.Equal(t, http.StatusServiceUnavailable, status)
	write(t, dir, map[string]string{"cp-1/config.ign": `{"one":1}`})
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
}

// TestFullState: a document that could not be remembered is not given, and an alarm says so. Pools
// leave half of the room to the machines that have a name.
func TestFullState(t *testing.T) {
	t.Parallel()
	var fetches []string
	for i := range 17 { // MiB
		fetches = append(fetches, fmt.Sprintf(`{"path":"/pools/small/user-data",`+
			`"machine":"%d %s","sha256":"ab"}`, i, strings.Repeat("x", 1<<20)))
	}
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":`+
		`"kiln.dev/v1alpha1","kind":"Served","cluster":`+
		`"11111111-2222-4333-8444-555555555555","fetches":[%s]}`,
		strings.Join(fetches, ",")), 0o600))
	r := start(t, example(t), func(o *serve.Options) { o.State = path })
	status, _ := r.get(t, "/pools/small/user-data")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, r.warnings.String(), "pools/small/user-data: not given to 127.0.0.1, "+
		"because no room is left to remember it")
	require.Equal(t, []string{
		"asked for and not given, because the list of fetched documents is full: 1",
	}, r.Alarms())
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
	r.requireRefused(t, "/cp-1/config.ign")
}
