package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopies: all transfers of a document share one copy, nobody gets a copy of a file that has
// changed, and no copy stays when nobody uses it.
func TestCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "user-data")
	require.NoError(t, os.WriteFile(path, []byte("a document"), 0o600))
	it := &item{dir: dir, file: "user-data"}
	require.NoError(t, it.know())
	var c copies
	first, leave, err := c.take(it)
	require.NoError(t, err)
	second, leaveToo, err := c.take(it)
	require.NoError(t, err)
	require.Same(t, &first[0], &second[0])
	require.NoError(t, os.WriteFile(path, []byte("a new one"), 0o600))
	_, _, err = c.take(it)
	require.ErrorContains(t, err, "it is not what inventory.json lists")
	leave()
	require.Len(t, c.of, 1)
	leaveToo()
	require.Empty(t, c.of)
}
