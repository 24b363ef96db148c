package templates_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// marks returns what the hook wrote to the Node, in its order.
func (m *aMachine) marks() (hook []string) {
	m.t.Helper()
	begin := `{"metadata":{"annotations":{"kiln.dev/twin":"` + digest + ` ca: g2 issue",` +
		`"kiln.dev/hook":"`
	for _, line := range strings.Split(strings.TrimSuffix(m.read(m.world+"/marks"), "\n"), "\n") {
		text, ok := strings.CutPrefix(line, begin)
		require.True(m.t, ok, "marked %s\nwant %s...", line, begin)
		hook = append(hook, strings.TrimSpace(strings.TrimSuffix(text, `","kiln.dev/born":""}}}`)))
	}
	return hook
}

// TestBootAnnotatesNode: once the Node is there the hook writes to it which document the machine
// runs, and how far it is. An API server that refuses this, or does not answer, changes nothing
// else.
func TestBootAnnotatesNode(t *testing.T) {
	const late = "*/api/v1/nodes/cp-1"
	for i, row := range []struct {
		name  string
		wrong func(m *aMachine)
		want  []string
	}{
		{name: "done", want: []string{"running network", "running done", "done done"}},
		{name: "late", wrong: func(m *aMachine) {
			m.data["step_timeout"] = "1"
			m.know("meanwhile", `rm -rf "$WORLD/rules"`+"\n")
			m.rule("GET", late, 1, 200, 0, `{"status":{"nodeInfo":{"machineID":`+
				`"6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1"}}}`)
			m.rule("GET", late, 9999, 500, 0, "")
		}, want: []string{"running network", "waiting network",
			"waiting network node-not-ready https://10.0.0.11:6443/api/v1/nodes/cp-1",
			"running network", "running done",
			"done done"}},
		{name: "refused", wrong: func(m *aMachine) {
			m.rule("PATCH", late, 9999, 403, 0, `{"message":"no"}`)
		}},
		{name: "no answer", wrong: func(m *aMachine) { m.rule("PATCH", late, 9999, 0, 28, "") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				if row.wrong != nil {
					row.wrong(m)
				}
				m.document()
				m.wantMended()
				if row.want == nil {
					return
				}
				require.Equal(t, row.want, m.marks())
			})
		})
	}
}
