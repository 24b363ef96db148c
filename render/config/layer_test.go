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
