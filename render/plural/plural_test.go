package plural_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/plural"
)

// TestCount: one thing has the singular, every other number the plural.
func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 files", plural.Count(0, "file"))
	require.Equal(t, "1 file", plural.Count(1, "file"))
	require.Equal(t, "2 files", plural.Count(2, "file"))
}
