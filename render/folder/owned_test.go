package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/folder"
)

// TestOwned: a file has one owner at a time, whatever was there before, and what the owner writes
// is kept.
func TestOwned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	owner, err := folder.Own(path)
	require.NoError(t, err)
	other, err := folder.Own(path)
	require.NoError(t, err, "there is nothing yet that could be owned")
	for _, text := range []string{"1", "2", "3"} {
		require.NoError(t, owner.Replace([]byte(text), 0o600))
		_, err = folder.Own(path)
		require.ErrorContains(t, err, "state: another kiln is writing there")
		require.ErrorContains(t, other.Replace([]byte("x"), 0o600), "another kiln is writing there")
		require.Equal(t, text, read(t, path))
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)

	// Somebody removes the file, and another process takes its place.
	require.NoError(t, os.Remove(path))
	require.NoError(t, other.Replace([]byte("4"), 0o600))
	require.ErrorContains(t, owner.Replace([]byte("x"), 0o600), "another kiln is writing there")
	require.Equal(t, "4", read(t, path))
	require.NoError(t, owner.Close())
	require.NoError(t, other.Close())
	require.NoError(t, other.Close())

	next, err := folder.Own(path)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	_, err = folder.Own(link)
	require.ErrorIs(t, err, folder.ErrIrregular)
}
