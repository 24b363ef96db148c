package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/config"
	"kiln/render/plan"
)

// TestEncryptionWarnings: a system without the program wg is named, unless a script before the boot
// is about it. A machine for etcd alone has no pods.
func TestEncryptionWarnings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, encryption, machines, nodes, want string }{
		{"brought", "wireguard", "os: flatcar", "", ""},
		{"brought too", "wireguard", "os: fedora-coreos", "", ""},
		{"missing", "wireguard", "os: debian", "", "machines with debian need the program wg"},
		{"two systems", "wireguard", "os: ubuntu", ", os: debian", "with debian, ubuntu need"},
		{"one of two", "wireguard", "os: flatcar", ", os: microos", "with microos need"},
		{"off", "none", "os: debian", "", ""},
		{"script", "wireguard", "os: debian\n    preBoot: " +
			"[{name: net, content: 'apt-get install -y wireguard-tools'}]", "", ""},
		{"other script", "wireguard", "os: debian\n    preBoot: " +
			"[{name: net, content: 'swg up'}]", "", "machines with debian need"},
	} {
		c, err := config.Parse("cluster.yaml", []byte(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  kubernetesVersion: v1.36.3
  network: {cni: routed, encryption: `+row.encryption+`}
  machines:
    `+row.machines+`
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21]`+row.nodes+`}
`), nil)
		require.NoError(t, err, row.name)
		warnings := plan.New(c).NetworkWarnings()
		if row.want == "" {
			require.Empty(t, warnings, row.name)
			continue
		}
		require.Len(t, warnings, 1, row.name)
		require.Contains(t, warnings[0], row.want, row.name)
	}
}
