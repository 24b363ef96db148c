package media_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/media"
)

// TestMade: the files of the goldens are kiln's, and files that may lie beside them are not.
func TestMade(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, index := range indexes(t) {
		data, err := os.ReadFile(index)
		require.NoError(t, err)
		x := media.ParseIndex(data)
		require.NotNil(t, x, index)
		for _, name := range x.Files {
			require.True(t, media.Made(name), name)
			seen++
		}
	}
	require.Greater(t, seen, 20)
	for _, name := range []string{
		"prod.secrets.yaml", "cluster.yaml", "images/vmlinuz", ".git/config", "../boot.ipxe",
		"/boot.ipxe", ".", "ipxe/../x.ipxe", "initrd", "netboot.json", "cp-1/x", "a/b/user-data",
		"served.json",
	} {
		require.False(t, media.Made(name), name)
	}
}

// indexes returns the indexes of the goldens.
func indexes(t *testing.T) (list []string) {
	t.Helper()
	collect := func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, media.IndexFile) {
			list = append(list, path)
		}
		return err
	}
	require.NoError(t, filepath.WalkDir("../../../../testdata/netboot", collect))
	return list
}
