package root_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki/root"
)

// TestParse: Parse reads what String writes, and nothing else.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"g1", "g2 since 2026-11-24T00:00:00Z", "g1 trust since 2026-11-24T00:00:00Z", "g12 issue",
	} {
		r, err := root.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, text, r.String())
	}
	for _, text := range []string{
		"g", "1", "g0", "g-1", "g1x", "g+1", "g01", "gg1", "g 1", "g1 drop", "g1 since noon",
	} {
		_, err := root.Parse(text)
		require.Error(t, err, text)
	}
}
