package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/config"
)

// TestEffectiveIsNaiveMerge compares Effective with a merge of the YAML of random layers that knows
// nothing of types.
func TestEffectiveIsNaiveMerge(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		layer := func() map[string]any { return randomLayer(rnd) }
		etcdLayer := func() map[string]any { // these machines have no Node
			l := randomLayer(rnd)
			maps.DeleteFunc(l, func(k string, _ any) bool {
				return k == "labels" || k == "taints"
			})
			return l
		}
		all, controlPlanes, etcd, workers := layer(), layer(), etcdLayer(), layer()
		controlPlane, worker, member, pool := layer(), layer(), etcdLayer(), layer()
		all["os"] = "ubuntu" // every machine needs one
		node := func(l map[string]any, name, role, address string) map[string]any {
			return withKeys(l, "name", name, "role", role, "addresses", []string{address})
		}
		spec := map[string]any{
			"kubernetesVersion": "v1.36.3",
			"network":           map[string]any{"cni": "none"},
			"machines":          all,
			"controlPlane": map[string]any{
				"machines": controlPlanes, "etcd": map[string]any{"machines": etcd},
			},
			"workers": map[string]any{"machines": workers},
			"nodes": []any{
				node(controlPlane, "cp", "control-plane", "10.0.0.1"),
				node(worker, "w", "worker", "10.0.0.2"),
				node(member, "e", "etcd", "10.0.0.3"),
			},
			"pools": []any{withKeys(pool, "name", "p")},
		}
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": config.APIVersion, "kind": config.KindCluster,
			"metadata": map[string]any{"name": "x"}, "spec": spec,
		})
		require.NoError(t, err)
		c := parse(t, string(text), nil)

		taint := map[string]any{
			"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule",
		}
		defaults := map[string]any{
			"platform": "metal", "arch": "amd64", "kubeletPath": "kubelet",
		}
		tainted := withKeys(defaults, "taints", []any{taint})
		for _, m := range []struct {
			got    *config.Effective
			layers []map[string]any
			names  string
		}{
			{
				c.EffectiveNode(0), []map[string]any{tainted, all, controlPlanes, controlPlane},
				"default machines controlPlane.machines nodes[0]",
			},
			{
				c.EffectiveNode(1), []map[string]any{defaults, all, workers, worker},
				"default machines workers.machines nodes[1]",
			},
			{
				c.EffectiveNode(2), []map[string]any{defaults, all, etcd, member},
				"default machines controlPlane.etcd.machines nodes[2]",
			},
			{
				c.EffectivePool(0), []map[string]any{defaults, all, workers, pool},
				"default machines workers.machines pools[0]",
			},
		} {
			want, source := map[string]any{}, map[string]string{}
			for i, l := range m.layers {
				naiveMerge(want, l, "", strings.Fields(m.names)[i], source)
			}
			require.JSONEq(t, canonical(t, want), canonical(t, m.got.Machine), "layers:\n%s", text)
			require.Equal(t, source, m.got.Source, "layers:\n%s", text)
		}
	}
}

// canonical returns a machine as JSON without its empty values. In JSON an empty list that was set
// is the same as one that was not, and the maps of a naive merge have no types.
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

// naiveMerge puts a layer over dst, key by key, and enters its name in source at every leaf that it
// sets.
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
		"os":             func() any { return pick(rnd, "ubuntu", "debian") },
		"platform":       func() any { return pick(rnd, "aws", "metal") },
		"kubeletVersion": func() any { return pick(rnd, "", "v1.35.0") },
		"kubeletPath":    func() any { return pick(rnd, "/opt/bin/kubelet", "kubelet") },
		"kernelModules":  func() any { return pick(rnd, []any{}, []any{"a"}, []any{"b", "c"}) },
		"sysctls":        func() any { return randomStrings(rnd, "a.b", "c.d", "e.f") },
		"labels":         func() any { return randomStrings(rnd, "x", "y", "example.com/z") },
		"taints": func() any {
			taint := map[string]any{"key": "k", "effect": "NoExecute"}
			return pick(rnd, []any{}, []any{taint})
		},
		"sshAuthorizedKeys": func() any { return []any{} },
		"kubelet": func() any {
			k := map[string]any{}
			for key, values := range map[string][]any{
				"maxPods": {0, 10, 20},
				"evictionHard": {
					map[string]any{},
					map[string]any{"memory.available": "1Mi"},
					map[string]any{"nodefs.available": "1%", "memory.available": "2Mi"},
				},
				"memorySwap": {map[string]any{}, map[string]any{"swapBehavior": "NoSwap"}},
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

// pick returns one of the values.
func pick(rnd *rand.Rand, values ...any) any { return values[rnd.IntN(len(values))] }

// randomStrings returns a map with some of the keys.
func randomStrings(rnd *rand.Rand, keys ...string) map[string]any {
	m := map[string]any{}
	for _, k := range keys {
		if rnd.IntN(2) == 0 {
			m[k] = fmt.Sprint("v", rnd.IntN(9))
		}
	}
	return m
}
