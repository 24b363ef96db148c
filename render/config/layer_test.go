package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

func TestEffective(t *testing.T) {
	t.Parallel()
	c := parse(t, header+`  endpoint: api.example.com
  network: {cni: none}
  machines:
    os: flatcar
    labels: {zone: a, tier: x}
    kubelet: {maxPods: 50, evictionHard: {memory.available: 100Mi, nodefs.available: 5%}}
    kernelModules: [a, b]
    taints: [{key: all, effect: NoSchedule}]
  controlPlane:
    machines: {platform: aws, labels: {tier: control}, kubelet: {maxPods: 0}, taints: []}
  workers: {machines: {os: ubuntu, kernelModules: [], kubeletVersion: v1.35.1}}
  pools: [{name: blue, labels: {tier: pool}}]
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - name: w-1
    role: worker
    addresses: [10.0.0.21]
    kubeletVersion: ""
    labels: {zone: b}
    kubelet: {evictionHard: {nodefs.available: 9%}}
  - {name: w-2, role: worker, addresses: [10.0.0.22], labels: {}, kubelet: {evictionHard: null}}
`, nil)

	cp := c.EffectiveNode(0)
	require.Equal(t, "flatcar", cp.OS)
	require.Equal(t, "aws", cp.Platform)
	require.Equal(t, "kubelet", cp.KubeletPath)
	require.Equal(t, map[string]string{"zone": "a", "tier": "control"}, cp.Labels)
	require.Equal(t, int64(0), cp.Kubelet["maxPods"], "a zero in the file wins")
	require.NotNil(t, cp.Taints)
	require.Empty(t, *cp.Taints, "an empty list means none")
	require.Equal(t, map[string]string{
		"arch":                                  "default",
		"kernelModules":                         "machines",
		"kubelet.evictionHard.memory.available": "machines",
		"kubelet.evictionHard.nodefs.available": "machines",
		"kubelet.maxPods":                       "controlPlane.machines",
		"kubeletPath":                           "default",
		"labels.tier":                           "controlPlane.machines",
		"labels.zone":                           "machines",
		"os":                                    "machines",
		"platform":                              "controlPlane.machines",
		"taints":                                "controlPlane.machines",
	}, cp.Source)

	w1 := c.EffectiveNode(1)
	require.Equal(t, "ubuntu", w1.OS)
	require.Empty(t, w1.KubeletVersion)
	require.Equal(t, "nodes[1]", w1.Source["kubeletVersion"])
	require.Equal(t, map[string]any{"memory.available": "100Mi", "nodefs.available": "9%"},
		w1.Kubelet["evictionHard"])
	require.Equal(t, "nodes[1]", w1.Source["kubelet.evictionHard.nodefs.available"])
	require.Equal(t, "machines", w1.Source["kubelet.evictionHard.memory.available"])
	require.Empty(t, w1.KernelModules)
	require.Equal(t, "workers.machines", w1.Source["kernelModules"])
	require.Equal(t, []config.Taint{{Key: "all", Effect: "NoSchedule"}}, *w1.Taints)

	w2 := c.EffectiveNode(2)
	require.Equal(t, map[string]string{"zone": "a", "tier": "x"}, w2.Labels,
		"an empty map adds nothing")
	require.Nil(t, w2.Kubelet["evictionHard"])
	require.Equal(t, "nodes[2]", w2.Source["kubelet.evictionHard"])
	require.NotContains(t, w2.Source, "kubelet.evictionHard.memory.available")

	pool := c.EffectivePool(0)
	require.Equal(t, "pool", pool.Labels["tier"])
	require.Equal(t, "pools[0]", pool.Source["labels.tier"])
	require.Equal(t, "v1.35.1", pool.KubeletVersion)

	require.Equal(t, int64(50), c.Spec.Machines.Kubelet["maxPods"], "layers are not changed")
	require.Equal(t, map[string]string{"zone": "a", "tier": "x"}, c.Spec.Machines.Labels)
}

// TestEffectiveProxy holds a proxy to be one value, so that a narrower layer can take it away.
func TestEffectiveProxy(t *testing.T) {
	t.Parallel()
	c := parse(t, header+`
  machines: {os: flatcar, proxy: {http: "http://one:3128", noProxy: [.example.com]}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21], proxy: {https: "http://two:3128"}}
  - {name: w-2, role: worker, addresses: [10.0.0.22], proxy: {}}
`, nil)
	for i, want := range []config.Proxy{
		{HTTP: "http://one:3128", NoProxy: []string{".example.com"}},
		{HTTPS: "http://two:3128"},
		{},
	} {
		m := c.EffectiveNode(i)
		require.Equal(t, want, m.Proxy)
		require.Equal(t, []string{"machines", "nodes[1]", "nodes[2]"}[i], m.Source["proxy"])
	}
}

func TestEffectiveControlPlaneTaint(t *testing.T) {
	t.Parallel()
	c := parse(t, header+onOS+oneNode+workers(1, "w-%d"), nil)
	cp := c.EffectiveNode(0)
	require.Equal(t,
		[]config.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}},
		*cp.Taints)
	require.Equal(t, "default", cp.Source["taints"])
	require.Nil(t, c.EffectiveNode(1).Taints)
}

// TestEffectiveWithoutParse merges a Cluster that Parse did not make: each field that is not zero
// is set.
func TestEffectiveWithoutParse(t *testing.T) {
	t.Parallel()
	c := &config.Cluster{Spec: config.Spec{
		Machines: config.Machine{OS: "flatcar", Labels: map[string]string{"a": "1"}},
		Nodes: []config.Node{{
			Name: "w", Role: "worker",
			Machine: config.Machine{Labels: map[string]string{"b": "2"}},
		}},
	}}
	e := c.EffectiveNode(0)
	require.Equal(t, "flatcar", e.OS)
	require.Equal(t, "metal", e.Platform)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, e.Labels)
	require.Equal(t, "nodes[0]", e.Source["labels.b"])
}
