package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

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

// TestExplainLayers holds an explained setting to the layers that set it, the narrowest first.
func TestExplainLayers(t *testing.T) {
	t.Parallel()
	c := parse(t, header+`  endpoint: api.example.com
  network: {cni: none}
  machines:
    os: flatcar
    kubelet: {evictionHard: {memory.available: 100Mi}}
    proxy: {http: "http://a.example.com:1"}
  workers: {machines: {kubelet: {evictionHard: {memory.available: 200Mi}}}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21], kubelet: {evictionHard: null}, proxy: {}}
`, nil)
	for path, want := range map[string]string{
		"kubelet.evictionHard": `kubelet.evictionHard: null
  set by cluster.yaml:15:79 nodes[1].kubelet.evictionHard
  before: {"memory.available":"200Mi"} by cluster.yaml:12:48 workers.machines.kubelet.evictionHard
  before: {"memory.available":"100Mi"} by cluster.yaml:10:29 machines.kubelet.evictionHard
`,
		"kubelet.evictionHard.memory.available": `kubelet.evictionHard.memory.available: not set
  removed by cluster.yaml:15:79 nodes[1].kubelet.evictionHard.memory.available
  before: 200Mi by cluster.yaml:12:67 workers.machines.kubelet.evictionHard.memory.available
  before: 100Mi by cluster.yaml:10:48 machines.kubelet.evictionHard.memory.available
`,
		"proxy.http": `proxy.http: not set
  removed by cluster.yaml:15:93 nodes[1].proxy.http
  before: http://a.example.com:1 by cluster.yaml:11:19 machines.proxy.http
`,
		"nodes.role": `nodes[1].role: worker
  set by cluster.yaml:15:23 nodes[1].role
`,
		"arch": `arch: amd64
  set by default of kiln (arch)
`,
		"controlPlane.scheduler": `controlPlane.scheduler: not set
  no layer sets it; kiln explain controlPlane.scheduler says what that means
`,
	} {
		settings, err := c.Explain("w-1", path)
		require.NoError(t, err, path)
		require.Len(t, settings, 1, path)
		require.Equal(t, want, settings[0].String())
	}
}
