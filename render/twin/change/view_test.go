package change

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

// TestLabel: a label of a machine is one with which its kubelet registers the Node.
func TestLabel(t *testing.T) {
	t.Parallel()
	machine := func(unit string) *Machine {
		key := Key{"file", plan.KubeletDropIn}
		return &Machine{Entries: Entries{{Key: key, Content: []byte(unit)}}}
	}
	m := machine("[Service]\nExecStart=\nExecStart=kubelet \\\n" +
		"  --node-labels=a=b,example.com/empty=,zone=eu-1\n")
	for key, want := range map[string]string{
		"a": "b", "zone": "eu-1", "example.com/empty": "", "zon": "", "": "",
	} {
		require.Equal(t, want, m.Label(key), key)
	}
	require.Empty(t, machine("[Service]\nExecStart=kubelet\n").Label("a"))
	require.Empty(t, (&Machine{}).Label("a"))
}

// TestRemoved: only what the newer state lacks is removed.
func TestRemoved(t *testing.T) {
	t.Parallel()
	old, new := oneMachine("v1.36.3"), oneMachine("v1.36.3")
	require.Empty(t, Compare(old, new).Removed())
	new.Machines[0].Name = "other"
	require.Equal(t, old.Machines, Compare(old, new).Removed())
}
