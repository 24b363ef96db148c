package cis

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnswers: docs/security.md has one row for each check that no control plane passes, and no
// row for another. Each row says something in each column.
func TestAnswers(t *testing.T) {
	t.Parallel()
	var want []string
	for _, e := range onControlPlanes {
		want = append(want, strings.Fields(e.ids)...)
	}
	require.Len(t, want, 36)
	for _, id := range want {
		i := slices.IndexFunc(checks, func(c check) bool { return c.id == id })
		require.GreaterOrEqual(t, i, 0, id)
		assert.NotEqual(t, automated, checks[i].kind, "%s is for no person to answer", id)
	}

	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "security.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n### The 36 manual items\n")
	require.True(t, found, "there is no such section")
	section, _, _ = strings.Cut(section, "\n#")
	row := regexp.MustCompile(`^\| (\d\.\d+\.\d+) `)
	var got []string
	for line := range strings.Lines(section) {
		id := row.FindStringSubmatch(line)
		if id == nil {
			continue
		}
		got = append(got, id[1])
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		assert.Len(t, cells, 4, id[1])
		for _, cell := range cells {
			assert.NotEmpty(t, strings.TrimSpace(cell), "%s has an empty cell", id[1])
		}
	}
	assert.ElementsMatch(t, want, got)
}
