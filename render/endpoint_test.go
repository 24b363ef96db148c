package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

// TestBalancerOfPools: the machines of a pool join through their balancer too, and patches change
// its pod.
func TestBalancerOfPools(t *testing.T) {
	t.Parallel()
	r, err := specified(t, `  endpoint: api.example.com
  images:
    haproxy: "registry.example.com/haproxy@sha256:\
      0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  network: {cni: none}
  machines: {os: debian}
  workers:
    localBalancer: {}
    patches:
    - patch: >-
        {apiVersion: v1, kind: Pod, metadata: {name: haproxy, namespace: kube-system},
        spec: {containers: [{name: haproxy, resources: {requests: {cpu: 77m}}}]}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21]}
  pools:
  - name: small
`, nil)
	require.NoError(t, err)
	for name, conf := range map[string]string{
		"w-1": plan.KubeletConf, "small": plan.BootstrapConf,
	} {
		m := rendered(t, r, name)
		require.NoError(t, m.check())
		require.Contains(t, string(m.file(conf).Content),
			"server: https://127.0.0.1:6443\n")
		require.Contains(t, string(m.file(plan.KubeletConfig).Content),
			"staticPodPath: "+plan.ManifestsDir+"\n")
		pod := string(m.file(plan.ManifestsDir + "/haproxy.yaml").Content)
		require.Contains(t, pod, "cpu: 77m")
		require.Contains(t, pod, "image: registry.example.com/haproxy@sha256:0123")
		require.Contains(t, string(m.file(plan.KilnDir+"/checks").Content),
			"images https://registry.example.com/v2/ registry.example.com/haproxy@sha256:0123")
	}
	checks := rendered(t, r, "cp-1").file(plan.KilnDir + "/checks")
	require.NotContains(t, string(checks.Content), "haproxy")
}
