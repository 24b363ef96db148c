package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln/render/config"
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
  controlPlane: {machines: {platform: aws, labels: {tier: control}, kubelet: {maxPods: 0}, taints: []}}
  workers: {machines: {os: ubuntu, kernelModules: [], kubeletVersion: v1.35.1}}
  pools: [{name: blue, labels: {tier: pool}}]
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21], kubeletVersion: "", labels: {zone: b}, kubelet: {evictionHard: {nodefs.available: 9%}}}
  - {name: w-2, role: worker, addresses: [10.0.0.22], labels: {}, kubelet: {evictionHard: null}}
`, nil)

	cp := c.EffectiveNode(0)
	require.Equal(t, "flatcar", cp.OS)
	require.Equal(t, "aws", cp.Platform)
	require.Equal(t, "kubelet", cp.KubeletPath)
	require.Equal(t, map[string]string{"zone": "a", "tier": "control"}, cp.Labels)
	require.Equal(t, int64(0), cp.Kubelet["maxPods"], "a zero that stands in the file wins")
	require.NotNil(t, cp.Taints)
	require.Empty(t, *cp.Taints, "an empty list means none")
	require.Equal(t, map[string]string{
		"arch": "default", "identity": "default", "kubeletPath": "default", "kernelModules": "machines", "os": "machines",
		"labels.zone": "machines", "labels.tier": "controlPlane.machines", "platform": "controlPlane.machines",
		"kubelet.maxPods": "controlPlane.machines", "taints": "controlPlane.machines",
		"kubelet.evictionHard.memory.available": "machines", "kubelet.evictionHard.nodefs.available": "machines",
	}, cp.Source)

	w1 := c.EffectiveNode(1)
	require.Equal(t, "ubuntu", w1.OS)
	require.Empty(t, w1.KubeletVersion)
	require.Equal(t, "nodes[1]", w1.Source["kubeletVersion"])
	require.Equal(t, map[string]any{"memory.available": "100Mi", "nodefs.available": "9%"}, w1.Kubelet["evictionHard"])
	require.Equal(t, "nodes[1]", w1.Source["kubelet.evictionHard.nodefs.available"])
	require.Equal(t, "machines", w1.Source["kubelet.evictionHard.memory.available"])
	require.Empty(t, w1.KernelModules)
	require.Equal(t, "workers.machines", w1.Source["kernelModules"])
	require.Equal(t, []config.Taint{{Key: "all", Effect: "NoSchedule"}}, *w1.Taints)

	w2 := c.EffectiveNode(2)
	require.Equal(t, map[string]string{"zone": "a", "tier": "x"}, w2.Labels, "an empty map adds nothing")
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

// TestEffectiveProxy: a proxy is one value, so that a narrower layer can take it away.
func TestEffectiveProxy(t *testing.T) {
	t.Parallel()
	c := parse(t, header+`  machines: {os: flatcar, proxy: {http: "http://one:3128", noProxy: [.example.com]}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21], proxy: {https: "http://two:3128"}}
  - {name: w-2, role: worker, addresses: [10.0.0.22], proxy: {}}
`, nil)
	for i, want := range []config.Proxy{{HTTP: "http://one:3128", NoProxy: []string{".example.com"}}, {HTTPS: "http://two:3128"}, {}} {
		m := c.EffectiveNode(i)
		require.Equal(t, want, m.Proxy)
		require.Equal(t, []string{"machines", "nodes[1]", "nodes[2]"}[i], m.Source["proxy"])
	}
}

func TestEffectiveControlPlaneTaint(t *testing.T) {
	t.Parallel()
	c := parse(t, header+onOS+"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n  - {name: w-1, role: worker, addresses: [10.0.0.21]}\n", nil)
	cp := c.EffectiveNode(0)
	require.Equal(t, []config.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}, *cp.Taints)
	require.Equal(t, "default", cp.Source["taints"])
	require.Nil(t, c.EffectiveNode(1).Taints)
}

// TestEffectiveWithoutParse merges a Cluster that was built by hand: what is not zero is set.
func TestEffectiveWithoutParse(t *testing.T) {
	t.Parallel()
	c := &config.Cluster{Spec: config.Spec{
		Machines: config.Machine{OS: "flatcar", Labels: map[string]string{"a": "1"}},
		Nodes:    []config.Node{{Name: "w", Role: "worker", Machine: config.Machine{Labels: map[string]string{"b": "2"}}}},
	}}
	e := c.EffectiveNode(0)
	require.Equal(t, "flatcar", e.OS)
	require.Equal(t, "metal", e.Platform)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, e.Labels)
	require.Equal(t, "nodes[0]", e.Source["labels.b"])
}

// TestEffectiveIsNaiveMerge compares Effective with a merge of the layers' YAML that knows nothing
// of types, for random layers.
func TestEffectiveIsNaiveMerge(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		layers := make([]map[string]any, 8) // machines, control planes, workers, a control plane, a worker, a pool, etcd machines, one of them
		for i := range layers {
			layers[i] = randomLayer(rnd)
			if i >= 6 { // they have no Node
				maps.DeleteFunc(layers[i], func(k string, _ any) bool { return k == "labels" || k == "taints" || k == "identity" })
			}
		}
		layers[0]["os"] = "ubuntu" // every machine needs one
		spec := map[string]any{
			"kubernetesVersion": "v1.36.3",
			"network":           map[string]any{"cni": "none"},
			"machines":          layers[0],
			"controlPlane":      map[string]any{"machines": layers[1], "etcd": map[string]any{"machines": layers[6]}},
			"workers":           map[string]any{"machines": layers[2]},
			"nodes": []any{
				withKeys(layers[3], "name", "cp", "role", "control-plane", "addresses", []string{"10.0.0.1"}),
				withKeys(layers[4], "name", "w", "role", "worker", "addresses", []string{"10.0.0.2"}),
				withKeys(layers[7], "name", "e", "role", "etcd", "addresses", []string{"10.0.0.3"}),
			},
			"pools": []any{withKeys(layers[5], "name", "p")},
		}
		text, err := yaml.Marshal(map[string]any{"apiVersion": config.APIVersion, "kind": config.KindCluster, "metadata": map[string]any{"name": "x"}, "spec": spec})
		require.NoError(t, err)
		c := parse(t, string(text), nil)

		taint := []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}}
		defaults := map[string]any{"platform": "metal", "arch": "amd64", "kubeletPath": "kubelet", "identity": "certificate"}
		machines := []struct {
			got    config.Effective
			layers []map[string]any
			names  []string
		}{
			{c.EffectiveNode(0), []map[string]any{withKeys(defaults, "taints", taint), layers[0], layers[1], layers[3]}, []string{"default", "machines", "controlPlane.machines", "nodes[0]"}},
			{c.EffectiveNode(1), []map[string]any{defaults, layers[0], layers[2], layers[4]}, []string{"default", "machines", "workers.machines", "nodes[1]"}},
			{c.EffectiveNode(2), []map[string]any{defaults, layers[0], layers[6], layers[7]}, []string{"default", "machines", "controlPlane.etcd.machines", "nodes[2]"}},
			{c.EffectivePool(0), []map[string]any{defaults, layers[0], layers[2], layers[5]}, []string{"default", "machines", "workers.machines", "pools[0]"}},
		}
		for _, m := range machines {
			want, source := map[string]any{}, map[string]string{}
			for i, l := range m.layers {
				naiveMerge(want, l, "", m.names[i], source)
			}
			require.JSONEq(t, canonical(t, want), canonical(t, m.got.Machine), "layers:\n%s", text)
			require.Equal(t, source, m.got.Source, "layers:\n%s", text)
		}
	}
}

// canonical marshals a machine without its empty values: JSON does not tell an empty list that was
// set from one that was not, and naive maps have no types.
func canonical(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(data, &m))
	maps.DeleteFunc(m, func(k string, v any) bool {
		switch v := v.(type) {
		case string:
			return v == ""
		case []any:
			return len(v) == 0
		case map[string]any:
			return len(v) == 0
		}
		return false
	})
	data, err = json.Marshal(m)
	require.NoError(t, err)
	return string(data)
}

// naiveMerge puts a layer over dst, key by key, and names it in source at every leaf that it sets.
func naiveMerge(dst, layer map[string]any, prefix, name string, source map[string]string) {
	for key, value := range layer {
		path := strings.TrimPrefix(prefix+"."+key, ".")
		sub, isMap := value.(map[string]any)
		before, wasMap := dst[key].(map[string]any)
		if isMap && wasMap {
			if len(before) == 0 || len(sub) > 0 {
				delete(source, path)
				if len(before) == 0 && len(sub) == 0 {
					source[path] = name
				}
			}
			naiveMerge(before, sub, path, name, source)
			continue
		}
		for old := range source {
			if old == path || strings.HasPrefix(old, path+".") {
				delete(source, old)
			}
		}
		if !isMap {
			dst[key] = value
			source[path] = name
			continue
		}
		tree := map[string]any{}
		dst[key] = tree
		if len(sub) == 0 {
			source[path] = name
		}
		naiveMerge(tree, sub, path, name, source)
	}
}

// withKeys returns a copy of m with further keys.
func withKeys(m map[string]any, pairs ...any) map[string]any {
	out := maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// randomLayer returns settings of a machine, zero values among them.
func randomLayer(rnd *rand.Rand) map[string]any {
	all := map[string]func() any{
		"os":                func() any { return pick(rnd, "ubuntu", "debian") },
		"platform":          func() any { return pick(rnd, "aws", "metal") },
		"kubeletVersion":    func() any { return pick(rnd, "", "v1.35.0") },
		"kubeletPath":       func() any { return pick(rnd, "/opt/bin/kubelet", "kubelet") },
		"kernelModules":     func() any { return pick(rnd, []any{}, []any{"a"}, []any{"b", "c"}) },
		"sysctls":           func() any { return randomTexts(rnd, "a.b", "c.d", "e.f") },
		"labels":            func() any { return randomTexts(rnd, "x", "y", "example.com/z") },
		"taints":            func() any { return pick(rnd, []any{}, []any{map[string]any{"key": "k", "effect": "NoExecute"}}) },
		"sshAuthorizedKeys": func() any { return []any{} },
		"kubelet": func() any {
			k := map[string]any{}
			for key, values := range map[string][]any{
				"maxPods":      {0, 10, 20},
				"evictionHard": {map[string]any{}, map[string]any{"memory.available": "1Mi"}, map[string]any{"nodefs.available": "1%", "memory.available": "2Mi"}},
				"memorySwap":   {map[string]any{}, map[string]any{"swapBehavior": "NoSwap"}},
			} {
				if rnd.IntN(2) == 0 {
					k[key] = pick(rnd, values...)
				}
			}
			return k
		},
	}
	layer := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if rnd.IntN(3) == 0 {
			layer[key] = all[key]()
		}
	}
	return layer
}

func pick(rnd *rand.Rand, values ...any) any { return values[rnd.IntN(len(values))] }

func randomTexts(rnd *rand.Rand, keys ...string) map[string]any {
	m := map[string]any{}
	for _, k := range keys {
		if rnd.IntN(2) == 0 {
			m[k] = fmt.Sprint("v", rnd.IntN(9))
		}
	}
	return m
}

func TestPodCIDRs(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, network, address string
		want                   []string
	}{
		{"the documented example", "{}", "10.0.0.21", []string{"10.244.21.0/24"}},
		{"low bits of two bytes", "{podSubnets: [172.16.0.0/12], nodeMaskSizes: [26]}", "10.0.5.3", []string{"172.17.64.192/26"}},
		{"one machine's subnet", "{podSubnets: [10.244.7.0/24]}", "10.0.0.21", []string{"10.244.7.0/24"}},
		{"sixteen bits", "{podSubnets: [172.16.0.0/12], nodeMaskSizes: [28]}", "10.0.255.254", []string{"172.31.255.224/28"}},
		{"IPv6", "{podSubnets: [\"fd00:10::/56\"], serviceSubnets: [\"fd00:20::/112\"]}", "fd00::1:21", []string{"fd00:10:0:21::/64"}},
		{"IPv6, mask within a byte", "{podSubnets: [\"fd00:10::/60\"], nodeMaskSizes: [70], serviceSubnets: [\"fd00:20::/112\"]}", "fd00::3f", []string{"fd00:10:0:0:fc00::/70"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, header+onOS+"  network: "+row.network+"\n  nodes:\n  - {name: a, role: control-plane, addresses: [\""+row.address+"\"]}\n", nil)
			got := c.Values().Nodes[0].PodCIDRs
			texts := make([]string, len(got))
			for i, p := range got {
				texts[i] = p.String()
				require.Equal(t, p, p.Masked())
			}
			require.Equal(t, row.want, texts)
		})
	}
	c := parse(t, header+onOS+"  nodes:\n  - {name: a, role: control-plane, addresses: [10.0.0.21], podCIDRs: [10.244.99.0/24]}\n", nil)
	got := c.Values().Nodes[0].PodCIDRs
	require.Equal(t, "10.244.99.0/24", got[0].String())
	require.Len(t, got, 1)
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text, host string
		port       int
	}{
		{"api.example.com", "api.example.com", 6443},
		{"api.example.com:443", "api.example.com", 443},
		{"10.0.0.1", "10.0.0.1", 6443},
		{"10.0.0.1:8443", "10.0.0.1", 8443},
		{"fd00::1", "fd00::1", 6443},
		{"[fd00::1]", "fd00::1", 6443},
		{"[fd00::1]:443", "fd00::1", 443},
	}
	for _, row := range rows {
		values := parse(t, header+onOS+"  endpoint: \""+row.text+"\"\n"+oneNode, nil).Values()
		require.Equal(t, row.host, values.EndpointHost)
		require.Equal(t, row.port, values.EndpointPort)
		a, err := netip.ParseAddr(row.host)
		require.Equal(t, err == nil, values.EndpointAddress.IsValid())
		require.Equal(t, a, values.EndpointAddress)
	}
	for _, bad := range []string{":6443", "[fd00::1", "[fd00::1]x", "a:b", "a:1:2", "a:+1", "a:01", "a:65536"} {
		_, err := config.Parse("cluster.yaml", []byte(header+onOS+"  endpoint: \""+bad+"\"\n"+oneNode), nil)
		require.ErrorContains(t, err, ": endpoint: ", bad)
	}
}
