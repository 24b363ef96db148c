package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnknownChecks: a name in ignorePreflight that is no check is a problem of the layer that has
// it. The ids of a machine's checks, the ids of other machines' checks, and kubeadm's names are no
// problem.
func TestUnknownChecks(t *testing.T) {
	t.Parallel()
	_, err := specified(t, `  machines:
    os: debian
    ignorePreflight: [port-6443, cpu]
  workers:
    machines:
      ignorePreflight: [NumCPU, mac, module-overlay, Port-6443, everything-else]
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - name: cp-2
    role: control-plane
    addresses: [10.0.0.12]
    ignorePreflight: [address-10.0.0.11, port-10251]
  - {name: cp-3, role: control-plane, addresses: [10.0.0.13]}
  - {name: worker-1, role: worker, addresses: [10.0.0.21]}
  endpoint: api.test
`, nil)
	require.EqualError(t, err, strings.Join([]string{
		`cluster.yaml:8:34: machines.ignorePreflight[1]: ` +
			`no check of cp-1 has this name; did you mean "cpus"?`,
		`cluster.yaml:11:54: workers.machines.ignorePreflight[3]: ` +
			`no check of worker-1 has this name; did you mean "port-6445"?`,
		`cluster.yaml:11:65: workers.machines.ignorePreflight[4]: ` +
			`no check of worker-1 has this name; docs/preflight.md lists them`,
		`cluster.yaml:17:23: nodes[1].ignorePreflight[0]: ` +
			`no check of cp-2 has this name; did you mean "address-10.0.0.12"?`,
		`cluster.yaml:17:42: nodes[1].ignorePreflight[1]: ` +
			`no check of cp-2 has this name; did you mean "port-10250"?`,
	}, "\n"))
}
