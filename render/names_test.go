package render

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/pack/document"
)

// TestRenderedNames: the configuration cannot name any file that Write makes beside it.
func TestRenderedNames(t *testing.T) {
	t.Parallel()
	for _, name := range append([]string{AdminFile, InventoryFile}, document.DocumentNames...) {
		_, err := config.Parse("cluster.yaml", []byte(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  kubernetesVersion: v1.36.3
  machines: {os: flatcar, files: [{path: /etc/a, contentFrom: `+name+`, secret: true}]}
  nodes: [{name: cp-1, role: control-plane, addresses: [10.0.0.11]}]
`), fstest.MapFS{
			name: {Data: []byte("x")},
			InventoryFile: {Data: []byte(`{"apiVersion": "` + document.InventoryVersion +
				`", "kind": "` + document.InventoryKind + `"}`)},
		})
		require.ErrorContains(t, err, name+`" lies in the folder of kiln render --out`)
	}
}
