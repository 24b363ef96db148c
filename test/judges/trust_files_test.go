package judges

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWallIsSeen: a machine whose first boot waits for the wall before the metadata service has the
// unit and the kubelet's drop-in for it.
func TestWallIsSeen(t *testing.T) {
	t.Parallel()
	once(t)
	const wall, drop = units + "kiln-wall.service", units + "kubelet.service.d/20-kiln-wall.conf"
	masked := onMachine("worker-1", func(m *Machine) {
		m.Units[slices.IndexFunc(m.Units, isUnit("kiln-wall.service"))].Masked = true
	})
	for name, tt := range map[string]struct {
		change change
		want   string
	}{
		"wall masked":  {masked, "kiln-wall.service: it is not enabled"},
		"wall gone":    {remove("worker-1", wall), wall + ": it is absent"},
		"drop-in gone": {remove("worker-1", drop), drop + ": it is absent"},
		"wall and drop-in gone": {all(remove("worker-1", wall), remove("worker-1", drop)),
			wall + ": it is absent"},
		"wall masked, drop-in gone": {
			all(masked, remove("worker-1", drop)), "kiln-wall.service: it is not enabled",
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, "balancer", "ignition")
			assert.NotContains(t, strings.Join(trustJudge(machines), "\n"), "wall")
			tt.change(t, machines)
			assert.Contains(t, strings.Join(trustJudge(machines), "\n"), tt.want)
		})
	}
}
