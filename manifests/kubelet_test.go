package manifests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// TestFlexVolumes: an older kubelet keeps its folder of volume plugins when the cluster goes to a
// minor that has none, so that its machine needs no new document.
func TestFlexVolumes(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: v1.36.3
  machines: {os: debian, platform: metal}
  workers: {machines: {kubeletVersion: v1.35.4}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21]}
`
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	p := plan.New(c)
	for i, want := range []bool{false, true} {
		var patches string
		src := manifests.Kubelet(p, &p.Machines[i])
		for _, text := range src.First(len(src.Steps())) {
			patches += text
		}
		require.Equal(t, want, strings.Contains(patches, "volumePluginDir"), p.Machines[i].Name)
	}
}
