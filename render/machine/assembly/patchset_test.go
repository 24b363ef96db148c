package assembly_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/assembly"
)

// parse returns a cluster with these patches of all machines and of control planes.
func parse(t *testing.T, all, controlPlane string) *assembly.PatchSet {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.example.com
  machines: {os: flatcar}
  nodes: [{name: cp, role: control-plane, addresses: [10.0.0.1]}]
  patches:
`+all+controlPlane), nil)
	require.NoError(t, err)
	s, problems := assembly.ReadPatches(c)
	require.Empty(t, problems)
	return s
}

// pod is a stream with one object.
var pod = manifests.Source{Base: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")}

// TestGrown: patches of several layers are bounded together, however small each is.
func TestGrown(t *testing.T) {
	t.Parallel()
	layer := func(key string) string {
		var out strings.Builder
		for i := range 100 {
			fmt.Fprintf(&out, "    - {patch: '{metadata: {annotations: {%s%d: %s}}}', "+
				"target: {kind: Pod}}\n", key, i, strings.Repeat("x", 6000))
		}
		return out.String()
	}
	s := parse(t, layer("a"), "  controlPlane:\n    patches:\n"+layer("b"))
	out, err := s.Apply(pod, s.All()[:100], nil)
	require.NoError(t, err)
	require.Greater(t, len(out), 600_000)
	_, err = s.Apply(pod, s.All(), nil)
	require.ErrorContains(t, err, "controlPlane.patches[99]: the patches up to this one add "+
		"1201995 bytes")
	require.ErrorContains(t, err, "at most 1 MiB (1048576)")
}

// TestShared: a stream is made once for all machines with equal values and patches, and the effect
// of the patches is that of the first time.
func TestShared(t *testing.T) {
	t.Parallel()
	s := parse(t, "    - {patch: '{metadata: {labels: {a: b}}}', target: {kind: Pod}}\n"+
		"    - {patch: '{metadata: {labels: {a: b}}}', target: {kind: Pod}}\n", "")
	first, err := s.Apply(pod, s.All(), nil)
	require.NoError(t, err)
	require.Equal(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    a: b\n  name: a\n",
		string(first))
	second, err := s.Apply(pod, s.All(), nil)
	require.NoError(t, err)
	require.Same(t, &first[0], &second[0])
	for i, want := range []bool{true, false} {
		matched, changed := s.Effect(s.All()[i])
		require.True(t, matched)
		require.Equal(t, want, changed)
	}
	alone, err := s.Apply(pod, nil, nil)
	require.NoError(t, err)
	require.NotContains(t, string(alone), "labels")
}
