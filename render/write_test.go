package render_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
)

// snapshot returns every file and folder below dir with its mode and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir) + " " + info.Mode().String()
		if e.IsDir() {
			out[name] = ""
			return nil
		}
		out[name] = read(t, path)
		return nil
	}))
	return out
}

// TestWriteFailsWhole: an error just before the renames leaves an old set as it was, and makes no
// new folder.
func TestWriteFailsWhole(t *testing.T) {
	t.Parallel()
	broken := errors.New("the bundle cannot be written")
	fail := render.Options{BeforeCommit: func(*render.Result) error { return broken }}
	r := load(t, "single")

	base := t.TempDir()
	require.NoError(t, os.Chmod(base, 0o755))
	_, err := r.Write(filepath.Join(base, "a", "b"), fail)
	require.ErrorIs(t, err, broken)
	require.Equal(t, []string{" drwxr-xr-x"}, keys(snapshot(t, base)))

	out := filepath.Join(base, "nodes")
	_, err = r.Write(out, render.Options{})
	require.NoError(t, err)
	name := filepath.Join(out, "cp-1", "user-data")
	require.NoError(t, os.WriteFile(name, []byte("changed by hand"), 0o600))
	before := snapshot(t, out)
	_, err = r.Write(out, fail)
	require.ErrorIs(t, err, broken)
	require.Equal(t, before, snapshot(t, out))
}

func keys(m map[string]string) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestWriteRefusesForeign: documents of another cluster are never replaced.
func TestWriteRefusesForeign(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "nodes")
	_, err := load(t, "single").Write(out, render.Options{})
	require.NoError(t, err)
	before := snapshot(t, out)
	_, err = load(t, "ha").Write(out, render.Options{})
	require.ErrorIs(t, err, render.ErrForeign)
	require.Equal(t, before, snapshot(t, out))
}

// TestWriteLocks: of two runs at the same time one finishes, and the other ends with an error.
// Their files do not mix.
func TestWriteLocks(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "nodes")
	r := load(t, "single")
	inside, leave := make(chan bool), make(chan bool)
	var group sync.WaitGroup
	group.Go(func() {
		_, err := r.Write(out, render.Options{BeforeCommit: func(*render.Result) error {
			close(inside)
			<-leave
			return nil
		}})
		require.NoError(t, err)
	})
	<-inside
	_, err := r.Write(out, render.Options{})
	require.ErrorContains(t, err, "another kiln is writing there")
	close(leave)
	group.Wait()
	result, err := r.Write(out, render.Options{})
	require.NoError(t, err)
	require.Empty(t, result.Written)
}

// TestInventoryShowsCutOffRun: a set with an exchanged document does not match its inventory.
func TestInventoryShowsCutOffRun(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "nodes")
	r := load(t, "single")
	_, err := r.Write(out, render.Options{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(out, "cp-1", "user-data"), nil, 0o600))
	result, err := r.Write(out, render.Options{Check: true})
	require.NoError(t, err)
	require.Equal(t, []string{"cp-1/user-data"}, result.Written)
}

// TestReadInventoryInside: an inventory may be a link, but not one that leads out of its folder.
func TestReadInventoryInside(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nodes")
	require.NoError(t, os.Mkdir(dir, 0o700))
	link := filepath.Join(dir, render.InventoryFile)
	inventory := []byte(`{"kind": "Inventory", "documents": [{"node": "cp-1"}]}`)
	for _, to := range []string{"inside", "../outside"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), inventory, 0o600))
		_ = os.Remove(link)
		require.NoError(t, os.Symlink(to, link))
		inv, err := render.ReadInventory(dir)
		if to == "inside" {
			require.NoError(t, err)
			require.NotNil(t, inv)
		} else {
			require.ErrorContains(t, err, link+": path escapes from parent")
		}
	}
}
