package cis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestChecks: the table has what the benchmark has.
func TestChecks(t *testing.T) {
	t.Parallel()
	count, seen := map[string]int{}, map[string]bool{}
	for _, c := range checks {
		assert.False(t, seen[c.id], "%s stands twice", c.id)
		seen[c.id] = true
		kind := "automated"
		if c.kind != automated {
			kind = "manual"
		}
		count[kind]++
		count[c.id[:1]]++
	}
	assert.Equal(t, map[string]int{
		"automated": 65, "manual": 66, "1": 60, "2": 7, "3": 5, "4": 25, "5": 34,
	}, count)
}
