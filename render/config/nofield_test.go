package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

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
