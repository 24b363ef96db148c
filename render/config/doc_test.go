package config_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

func TestField(t *testing.T) {
	t.Parallel()
	cni, ok := config.Field("network.cni")
	require.True(t, ok)
	require.Equal(t, "string", cni.Type)
	require.Equal(t, "flannel", cni.Default)
	require.Equal(t, []string{"flannel", "none"}, cni.Enum)
	require.True(t, strings.HasPrefix(cni.Text, "cni is how pods reach each other."))

	rows := []struct{ path, kind, def string }{
		{"", "map", ""},
		{"spec", "map", ""},
		{"spec.network.podSubnets", "list of strings", "[10.244.0.0/16]"},
		{"network.nodeMaskSizes", "list of numbers", ""},
		{"nodes", "list of maps", ""},
		{"nodes[3].addresses", "list of strings", ""},
		{"nodes.os", "string", ""},
		{"pools.tokenLifetime", "duration", "168h"},
		{"machines.labels", "map of strings", ""},
		{"machines.taints", "list of maps", ""},
		{"machines.kubelet", "map", ""},
		{"controlPlane.etcd.external.caFrom", "string", ""},
		{"controlPlane.etcd.allowEvenMembers", "boolean", ""},
		{"metadata.name", "string", ""},
		{"dns.replicas", "number", "2"},
	}
	for _, row := range rows {
		d, ok := config.Field(row.path)
		require.True(t, ok, row.path)
		require.Equal(t, row.kind, d.Type, row.path)
		require.Equal(t, row.def, d.Default, row.path)
		require.NotEmpty(t, d.Text, row.path)
	}
	for _, path := range []string{"networks", "network.cni.x", "nodes.x", "spec.spec", "network."} {
		_, ok := config.Field(path)
		require.False(t, ok, path)
	}
}

// TestEveryFieldIsDocumented walks all fields: each has a comment whose lines fit a screen, and its
// default is one of its allowed values.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	count := 0
	var walk func(path string)
	walk = func(path string) {
		d, ok := config.Field(path)
		require.True(t, ok, path)
		for line := range strings.Lines(d.String()) {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 101, "%s: %s", path, line)
		}
		count++
		require.NotEmpty(t, d.Text, path)
		if d.Default != "" && len(d.Enum) > 0 {
			require.Contains(t, d.Enum, d.Default, path)
		}
		if d.Required && path != "" {
			require.True(t, d.Example != "" || len(d.Enum) > 0, "%s is required: the message "+
				"about a missing one needs an example or the allowed values", path)
		}
		for _, key := range d.Fields {
			walk(strings.TrimPrefix(strings.TrimPrefix(path+"."+key, "."), "spec."))
		}
	}
	walk("")
	require.Greater(t, count, 100)
}

func TestFieldString(t *testing.T) {
	t.Parallel()
	d, _ := config.Field("controlPlane.etcd.external")
	require.Equal(t, `controlPlane.etcd.external (map)

  external is an etcd cluster that kiln does not make. The control planes then have no members.

Fields:
  endpoints  the client URLs of the members
  caFrom     the file beside cluster.yaml with the certificate of a CA (PEM)
  certFrom   the file with the API server's client certificate (PEM)
  keyFrom    the file with the private key of that certificate (PEM)
`, d.String())
	d, _ = config.Field("network.proxy")
	require.Equal(t, `network.proxy (string, default nftables)
  one of nftables, iptables, none

  proxy is the mode of kube-proxy. none: there is no kube-proxy.
`, d.String())
}

// without returns a map without one of its keys.
func without(m map[string]any, key string) map[string]any {
	m = maps.Clone(m)
	delete(m, key)
	return m
}

func TestSchema(t *testing.T) {
	t.Parallel()
	var s struct {
		Schema     string         `json:"$schema"`
		ID         string         `json:"$id"`
		Required   []string       `json:"required"`
		Additional any            `json:"additionalProperties"`
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Required   []string                  `json:"required"`
			Additional any                       `json:"additionalProperties"`
			Properties map[string]map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	data := config.Schema()
	require.NoError(t, json.Unmarshal(data, &s))
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", s.Schema)
	require.Equal(t, "https://kiln.dev/v1alpha1/cluster.schema.json", s.ID)
	require.Equal(t, []string{"apiVersion", "kind", "metadata", "spec"}, s.Required)
	require.Equal(t, false, s.Additional)

	node := s.Defs["Node"]
	require.Equal(t, []string{"name", "role", "addresses"}, node.Required)
	require.Equal(t, false, node.Additional)
	require.Equal(t, []any{"control-plane", "worker", "etcd"}, node.Properties["role"]["enum"])
	require.Contains(t, node.Properties, "os", "the settings of machines are inline")
	require.Equal(t, "metal", node.Properties["platform"]["default"])
	require.Equal(t, "string", s.Defs["Certificates"].Properties["lifetime"]["type"])
	require.Contains(t, s.Defs["Certificates"].Properties["lifetime"], "pattern")
	require.Equal(t, []any{"10.244.0.0/16"}, s.Defs["Network"].Properties["podSubnets"]["default"])
	require.EqualValues(t, 2, s.Defs["DNS"].Properties["replicas"]["default"])
	require.Equal(t, map[string]any{"$ref": "#/$defs/KubeletConfiguration"},
		without(node.Properties["kubelet"], "description"))
	require.Contains(t, s.Defs["KubeletConfiguration"].Properties, "maxPods")
	require.NotContains(t, s.Defs["KubeletConfiguration"].Properties, "clusterDomain")
	require.Contains(t, s.Defs["kube-scheduler"].Properties["name"]["enum"], "leader-elect")
	require.Equal(t, config.Schema(), data, "the same bytes every time")

	// Every reference has a definition.
	for part := range strings.SplitSeq(string(data), `"$ref": "#/$defs/`) {
		name, _, _ := strings.Cut(part, `"`)
		if !strings.HasPrefix(part, "{") {
			require.Contains(t, s.Defs, name)
		}
	}
}

func TestNoField(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"nodes.addreses":    `; did you mean "nodes.addresses"?`,
		"nodes[0].addreses": `; did you mean "nodes.addresses"?`,
		"spec.netwrok.cni":  `; did you mean "network"?`,
		"netwrok":           `; did you mean "network"?`,
		"kubelet.maxPods": `; there is machines.kubelet, controlPlane.machines.kubelet, ` +
			`controlPlane.etcd.machines.kubelet; the value that one machine has: add --node NAME`,
		"podSubnets":          `; there is network.podSubnets`,
		"nonsense":            `; kiln explain lists the fields`,
		"network.nonsense":    `; kiln explain network lists the fields there are`,
		"network.cni.none":    `; kiln documents no fields below network.cni`,
		"machines.kubelet.x":  `; kiln documents no fields below machines.kubelet`,
		"network.nonsense.is": `; kiln explain network lists the fields there are`,
	} {
		_, ok := config.Field(path)
		require.False(t, ok, path)
		require.EqualError(t, config.NoField(path),
			`"`+path+`" is no field of cluster.yaml`+want)
	}
}

// TestFieldPaths: each path is that of a field, and is there once.
func TestFieldPaths(t *testing.T) {
	t.Parallel()
	paths := config.FieldPaths()
	require.Contains(t, paths, "nodes.addresses")
	require.Contains(t, paths, "controlPlane.etcd.machines.os")
	seen := map[string]bool{}
	for _, path := range paths {
		_, ok := config.Field(path)
		require.True(t, ok, path)
		require.False(t, seen[path], path)
		seen[path] = true
	}
	t.Log(len(paths))
}
