package wording_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

// TestBounds: what would take hours is refused, and nothing else. An identifier that looks like a
// large number is not endless, because only a comparison would take long.
func TestBounds(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("9", 10_001)
	for _, row := range []struct {
		text              string
		inBounds, endless bool
	}{
		{"500m", true, false},
		{"2Gi", true, false},
		{"1e-999", true, false},
		{"1E+999", true, false},
		{"12e-12-34", true, false},
		{"a1e-9999", true, false},
		{many + " bottles", true, false},
		{"1e-1000", false, true},
		{"-1.5E-99999999999999999999", false, true},
		{many, false, true},
		{many + "Gi", false, true},
		{"1e1000", false, false},
		{"1e99999999999999999999", false, false},
	} {
		name := row.text[:min(len(row.text), 20)]
		require.Equal(t, row.inBounds, wording.QuantityInBounds(row.text), name)
		require.Equal(t, row.endless, wording.IsEndlessQuantity(row.text), name)
		if _, err := wording.ParseQuantity(row.text); !row.inBounds {
			require.ErrorContains(t, err, "too many digits or too large an exponent", name)
		}
	}
	q, err := wording.ParseQuantity("1.5Gi")
	require.NoError(t, err)
	require.EqualValues(t, 3<<29, q.Value())
}
