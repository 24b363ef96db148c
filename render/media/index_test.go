package media_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/media"
)

// TestMade: what the goldens hold is kiln's, and nothing else that may lie beside it.
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
		"prod.secrets.yaml", "cluster.yaml", "images/vmlinuz", ".git/config", "../boot.ipxe", "/boot.ipxe", ".",
		"ipxe/../x.ipxe", "initrd", "netboot.json", "cp-1/x", "a/b/user-data", "served.json",
	} {
		require.False(t, media.Made(name), name)
	}
}

func indexes(t *testing.T) (list []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../../testdata/netboot", func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, media.IndexFile) {
			list = append(list, path)
		}
		return err
	}))
	return list
}
