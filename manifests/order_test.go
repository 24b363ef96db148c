package manifests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
)

// TestSort: namespaces come first, then definitions of custom resources, then the others as they
// stood. Custom kinds with the same names are among the others.
func TestSort(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Read([]byte(`apiVersion: example.com/v1
kind: Ox
metadata: {name: a}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: farm}}
---
{apiVersion: example.com/v1, kind: Namespace, metadata: {name: c}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oxen.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Ox, plural: oxen}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: farm}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: barn}}
`))
	require.NoError(t, err)
	manifests.Sort(objects)
	var names []string
	for _, o := range objects {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"farm", "barn", "oxen.example.com", "a", "b", "c"}, names)
}
