package render_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// TestBalancerOfPools: the machines of a pool join through their balancer too, and patches change
// its pod.
func TestBalancerOfPools(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("cluster.yaml", []byte(`
apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: test}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.example.com
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
`), nil)
	require.NoError(t, err)
	b, err := pki.New(pki.Options{
		Name:            "test",
		Now:             time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Algorithm:       private.Algorithm(c.Spec.Certificates.KeyAlgorithm),
		CALifetime:      time.Duration(c.Spec.Certificates.CALifetime),
		FormationWindow: time.Duration(c.Spec.Boot.FormationWindow),
	})
	require.NoError(t, err)
	r, err := render.New(c, b)
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
