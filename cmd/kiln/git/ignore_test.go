package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatched: lines of a .gitignore mean what they mean to git. One that is taken for more than it covers
// would leave a secret for the next git add.
func TestMatched(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text, place string
		folder      bool
		want        bool
	}{
		{"*.secrets.yaml\n", "prod.secrets.yaml", false, true},
		{"/nodes/\n", "nodes", true, true},
		{"/nodes/\n", "nodes", false, false},
		{"# *.yaml\n", "a.yaml", false, false},
		{"*.yaml\n!prod.yaml\n", "prod.yaml", false, false},
		{"[!a]b\n", "ab", false, false},
		{"[!a]b\n", "cb", false, true},
		{"nodes   \n", "nodes", true, true},
		{"nodes\t\n", "nodes", true, false},
		{"nodes\\ \n", "nodes ", false, true},
		{"nodes\\ \n", "nodes", false, false},
	} {
		require.Equal(t, row.want, matched([]byte(row.text), row.place, row.folder, false), "%q of %q", row.place, row.text)
	}
	// What kiln adds for a path covers it, and no other.
	for _, place := range []string{"prod.secrets.yaml", "a b", "end ", "a*b", "[x]", `a\b`, "!x", "#x"} {
		line := pattern(place, false)
		require.True(t, matched([]byte(line+"\n"), place, false, false), line)
		require.False(t, matched([]byte(line+"\n"), strings.ReplaceAll(place, "a", "c")+"x", false, false), line)
	}
}
