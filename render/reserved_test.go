package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/plan"
)

// TestSystemReserved: pods leave a part of their machine to the system, by default and with amounts
// of the user's. A machine without pods reserves nothing.
func TestSystemReserved(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		node string
		want map[string]string
	}{
		{"role: worker", map[string]string{"cpu": "200m", "memory": "250Mi"}},
		{
			"role: worker, kubelet: {systemReserved: {memory: 1Gi}}",
			map[string]string{"cpu": "200m", "memory": "1Gi"},
		},
		{"role: worker, kubelet: {systemReserved: null}", nil},
		{"role: etcd", nil},
	} {
		r := cluster(t, "  - {name: m, addresses: [10.0.0.21], "+row.node+"}")
		var kubelet struct {
			SystemReserved map[string]string `json:"systemReserved"`
		}
		content := rendered(t, r, "m").file(plan.KubeletConfig).Content
		require.NoError(t, yaml.Unmarshal(content, &kubelet))
		require.Equal(t, row.want, kubelet.SystemReserved, row.node)
	}
}
