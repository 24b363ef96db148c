package judges

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kiln.dev/kiln/test/judges/cis"
)

// TestCISSees: for every automated check there is a mutation that it sees.
func TestCISSees(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range mutations {
		seen[m.by] = true
	}
	for _, id := range cis.Automated() {
		assert.True(t, seen["cis: "+id+" "], id)
	}
}

// TestCISScore checks that a control plane passes all 65 automated checks and 30 of the 66 others,
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
				results := cis.Evaluate(&m.Machine)
				for _, r := range results {
					count[r.State]++
					fmt.Fprintf(&table, "%-7s%-5s%s\n", r.ID, r.State, r.Found)
				}
				t.Logf("%s: %d of %d pass\n%s", m.Name, count[cis.Pass], len(results), &table)
				if m.ControlPlane() {
					assert.Equal(t, map[string]int{cis.Pass: 95, cis.Warn: 36}, count, m.Name)
				} else {
					assert.Equal(t, map[string]int{cis.Pass: 25}, count, m.Name)
				}
			}
		})
	}
}
