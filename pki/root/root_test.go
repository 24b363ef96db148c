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
		"g1 issue since 2026-02-08T00:00:00Z, begun 2026-02-01T00:00:00Z",
		"g2 since 2026-02-15T00:00:00Z, begun 2026-02-01T00:00:00Z",
	} {
		r, err := root.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, text, r.String())
	}
	for _, text := range []string{
		"g", "1", "g0", "g-1", "g1x", "g+1", "g01", "gg1", "g 1", "g1 drop", "g1 both", "trust",
		"g1 since noon", "g1 trust since x",
	} {
		_, err := root.Parse(text)
		require.Error(t, err, text)
	}
	r, err := root.Parse("")
	require.NoError(t, err)
	require.Zero(t, r.Position())
}
