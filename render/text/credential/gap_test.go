package credential

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGaps: a gap between two runs is read once, whatever lies in it.
func TestGaps(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{`\n`, `\r`, "\\n ", "\\r\\\n", "\\n\t\r\n"} {
		text := []byte(strings.Repeat(unit, 1000))
		reads := 0
		var g gap
		for at := range text {
			if text[at] != 'n' && text[at] != 'r' {
				continue
			}
			before := g.end
			next, _ := g.continuation(text, at+1)
			require.Empty(t, next)
			if g.end != before {
				reads++
			}
		}
		require.Equal(t, 1, reads, "%q", unit)
	}
}
