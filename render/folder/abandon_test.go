package folder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAbandon: no temporary file stays, none is made after that, and what has its name is whole.
func TestAbandon(t *testing.T) {
	defer abandoned.Store(false)
	dir := t.TempDir()
	whole, half := filepath.Join(dir, "whole"), filepath.Join(dir, "half"+Suffix)
	require.NoError(t, Create(whole, []byte("a"), 0o600))
	require.NoError(t, os.WriteFile(half, []byte("b"), 0o600))
	require.NoError(t, begun(half))
	Abandon()
	require.NoFileExists(t, half)
	require.FileExists(t, whole)
	require.ErrorContains(t, Create(filepath.Join(dir, "later"), []byte("c"), 0o600), "interrupted")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
