package term_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/term"
)

// TestWithin: links are followed as far as the path exists, and a folder is not within itself.
func TestWithin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.MkdirAll(at("real/below"), 0o755))
	require.NoError(t, os.Symlink("real", at("link")))
	for _, row := range []struct {
		dir, name string
		want      bool
	}{
		{"real", "real/below", true},
		{"real", "real/below/not/there/yet", true},
		{"link", "real/below", true},
		{"real", "link/new", true},
		{"real", "link", false},
		{"real", "real", false},
		{"real/below", "real", false},
		{"real", "realm", false},
		{"real", "real/../other", false},
		{"real", "real/a\nb", false},
	} {
		require.Equal(t, row.want, term.PathWithin(at(row.dir), at(row.name)), "%v", row)
	}
	place, ok := term.PathInside(term.ResolvePath(dir), at("link/new"))
	require.True(t, ok)
	require.Equal(t, "real/new", place)
	require.True(t, term.AbsentPath(at("real/new")))
	require.False(t, term.AbsentPath(at("link")))
}
