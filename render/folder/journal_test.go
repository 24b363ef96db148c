package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/folder"
)

// TestUnsynced: a file that has its name stays written if the disk does not confirm the name. It is
// no error, and the journal has it once.
func TestUnsynced(t *testing.T) { // not parallel: all syncs fail
	for _, row := range []struct {
		name        string
		err         error
		unsupported bool
	}{
		{"no folder is synced there", syscall.EINVAL, true},
		{"not supported", syscall.ENOTSUP, true},
		{"the disk fails", syscall.EIO, false},
		{"the disk is full", syscall.ENOSPC, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder.FailSync(t, row.err)
			dir := t.TempDir()
			path, start := filepath.Join(dir, "a"), folder.Now()
			require.False(t, start.Changed())
			ours := func([]byte) bool { return true }
			require.NoError(t, folder.Create(path, []byte("one"), 0o600))
			require.NoError(t, folder.Write(folder.File{Path: path, Ours: ours}, []byte("two")))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "two", string(data))
			require.True(t, start.Changed())
			require.Equal(t, []folder.Unsynced{{Path: path, Err: row.err}}, start.Unsynced())
			require.Equal(t, row.unsupported, start.Unsynced()[0].Unsupported())
			renamed, err := folder.Rename(path, path+"b")
			require.NoError(t, err)
			require.True(t, renamed)
			// A process that writes a file again and again has to know of a disk that fails.
			err = folder.Replace(filepath.Join(dir, "state"), []byte("x"), 0o600)
			require.Equal(t, row.unsupported, err == nil, err)
		})
	}
}

// TestUnchanged: what fails before the first file gets its name has changed nothing.
func TestUnchanged(t *testing.T) { // not parallel: the journal is one for all
	dir, start := t.TempDir(), folder.Now()
	path := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	require.Error(t, folder.Create(path, []byte("one"), 0o600))
	refuse := func([]byte) bool { return false }
	require.Error(t, folder.Write(folder.File{Path: path, Ours: refuse}, []byte("two")))
	require.Error(t, folder.Make(filepath.Join(dir, "new"), func(*os.Root) error {
		return errors.New("full")
	}))
	folder.Tidy(path)
	require.False(t, start.Changed())
	require.Empty(t, start.Unsynced())
}
