package judges

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCISChecks: the table has what the benchmark has.
func TestCISChecks(t *testing.T) {
	t.Parallel()
	count, seen := map[kind]int{}, map[string]bool{}
	for _, c := range cisChecks {
		assert.False(t, seen[c.id], "%s stands twice", c.id)
		seen[c.id] = true
		count[c.kind]++
	}
	assert.Equal(t, map[kind]int{automated: 65, manual: 27, personal: 5}, count)
}

// TestCISSees: for every automated check there is a mutation that it sees.
func TestCISSees(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range mutations {
		seen[m.by] = true
	}
	for _, c := range cisChecks {
		if c.kind == automated {
			assert.True(t, seen["cis: "+c.id+" "], c.id)
		}
	}
}

// TestCISScore checks that a control plane passes all 65 automated checks and 25 of the 32 others,
// and that a worker passes all. With -v it prints the whole table.
func TestCISScore(t *testing.T) {
	t.Parallel()
	once(t)
	for _, name := range []string{"single", "ha"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range cluster(t, name, "ignition") {
				count := map[string]int{}
				var table strings.Builder
				for _, r := range m.cis() {
					count[r.state]++
					fmt.Fprintf(&table, "%-7s%-5s%s\n", r.id, r.state, r.found)
				}
				t.Logf("%s: %d of %d pass\n%s", m.Name, count[pass], len(m.cis()), &table)
				if m.ControlPlane() {
					assert.Equal(t, map[string]int{pass: 90, warn: 7}, count, m.Name)
				} else {
					assert.Equal(t, map[string]int{pass: 25}, count, m.Name)
				}
			}
		})
	}
}
