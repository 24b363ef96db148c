package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCovers: a line of a .gitignore covers what it covers for git. If kiln took a line to cover
// more, it would leave a secret to the next git add.
func TestCovers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rules, place string
		folder       bool
		want         bool
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
		got := covers([]byte(row.rules), row.place, row.folder, false)
		require.Equal(t, row.want, got, "%q in %q", row.place, row.rules)
	}
	// The line that kiln adds for a path covers that path, and no other.
	for _, place := range []string{
		"prod.secrets.yaml", "a b", "end ", "a*b", "[x]", `a\b`, "!x", "#x",
	} {
		line := pattern(place, false)
		require.True(t, covers([]byte(line+"\n"), place, false, false), line)
		other := strings.ReplaceAll(place, "a", "c") + "x"
		require.False(t, covers([]byte(line+"\n"), other, false, false), line)
	}
}
