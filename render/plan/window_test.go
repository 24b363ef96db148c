package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/render/facts/node"
)

// TestWindows: the windows of control planes lie behind each other, over midnight and over the end
// of the week; workers have the first one.
func TestWindows(t *testing.T) {
	t.Parallel()
	others := "  - {name: cp-3, role: control-plane, addresses: [10.0.0.13]}\n" +
		"  - {name: cp-2, role: control-plane, addresses: [10.0.0.12]}\n" +
		"  - {name: worker-1, role: worker, addresses: [10.0.0.21]}\n" +
		"  - {name: worker-2, role: worker, addresses: [10.0.0.22]}\n"
	for _, row := range []struct{ start, length, want, first string }{
		{"02:00", "1h", "02:00, 03:00, 04:00", "02:00"},
		{"22:30", "90m", "22:30, 00:00, 01:30", "22:30"},
		{"Sun 02:00", "1h", "Sun 02:00, Sun 03:00, Sun 04:00", "Sun 02:00"},
		{"Sat 23:00", "30m", "Sat 23:00, Sat 23:30, Sun 00:00", "Sat 23:00"},
		{"Sun 12:00", "24h", "Sun 12:00, Mon 12:00, Tue 12:00", "Sun 12:00"},
	} {
		spec := "  endpoint: api.example.com\n  machines:\n    os: debian\n" +
			"    updates: {policy: window, start: \"" + row.start + "\", " +
			"length: " + row.length + "}\n"
		p := parse(t, spec, others)
		var starts []string
		for i := range p.Machines {
			m := &p.Machines[i]
			w := m.Window()
			require.GreaterOrEqual(t, w.Length, 10*time.Minute)
			if m.Role == node.Worker {
				require.Equal(t, row.first, w.Start(), m.Name)
				continue
			}
			starts = append(starts, w.Start())
		}
		require.Equal(t, row.want, strings.Join(starts, ", "))
	}
}

// TestTurns: a control plane without a window takes no turn.
func TestTurns(t *testing.T) {
	t.Parallel()
	p := parse(t, "  endpoint: api.example.com\n  machines:\n    os: debian\n"+
		"    updates: {policy: window, start: \"02:00\", length: 12h}\n",
		"  - {name: cp-2, role: control-plane, addresses: [10.0.0.12], updates: {policy: none}}\n"+
			"  - {name: cp-3, role: control-plane, addresses: [10.0.0.13]}\n")
	require.Equal(t, "02:00", p.Machines[0].Window().Start())
	require.Equal(t, "14:00", p.Machines[2].Window().Start())
}
