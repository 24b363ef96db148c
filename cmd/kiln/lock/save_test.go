package lock

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
)

// TestSave: the folder has every file below the path of its URL, those that were locked before too,
// and the lock.
func TestSave(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	p.fails[runc] = 1
	old, err := l.Make(context.Background(), wanted[:1], nil)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "mirror")
	got, err := l.Save(context.Background(), dir, wanted, old)
	require.NoError(t, err)
	for path, want := range map[string]string{
		kubelet: "a kubelet", archive: "an archive", runc: "a runc",
	} {
		content, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Equal(t, want, string(content))
	}
	kept, err := images.ReadMirror(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, got, kept)
	_, err = l.Save(context.Background(), dir, wanted, nil)
	require.ErrorContains(t, err, "name a new folder")
}

// TestSaveRefuses: what is not the file of the lock is not kept, and no folder is left.
func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	const other = "https://builds.example.com"
	at := func(path string) func(*projects, []target.Artifact) {
		return func(_ *projects, old []target.Artifact) { old[0].URL = other + path }
	}
	for name, change := range map[string]func(p *projects, old []target.Artifact){
		"another file":  func(p *projects, _ []target.Artifact) { p.files[kubelet] = "another" },
		"no file":       func(p *projects, _ []target.Artifact) { delete(p.files, kubelet) },
		"a parent":      at("/../x"),
		"no path":       at("/"),
		"the lock":      at("/kiln.lock.yaml"),
		"the same path": at(archive),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, l := serve(t)
			old, err := l.Make(context.Background(), wanted, nil)
			require.NoError(t, err)
			change(p, old)
			dir := filepath.Join(t.TempDir(), "mirror")
			_, err = l.Save(context.Background(), dir, wanted, old)
			require.Error(t, err)
			_, err = os.Stat(dir)
			require.ErrorIs(t, err, os.ErrNotExist)
			entries, err := os.ReadDir(filepath.Dir(dir))
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}
