package wording_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

// TestCount: one thing has the singular, every other number the plural.
func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 files", wording.Count(0, "file"))
	require.Equal(t, "1 file", wording.Count(1, "file"))
	require.Equal(t, "2 files", wording.Count(2, "file"))
}
