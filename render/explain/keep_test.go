package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeep: what the stages of a stream keep grows with what they change, not with the stream, and
// each object is what it was after its stage.
func TestKeep(t *testing.T) {
	t.Parallel()
	const objects, stages = 50, 60
	// text is an object after a number of patches, which each add a label.
	text := func(object, patches int) string {
		var labels strings.Builder
		for i := range patches {
			fmt.Fprintf(&labels, "    l%d: x\n", i)
		}
		return fmt.Sprintf("apiVersion: v1\ndata:\n  a: %s\nkind: ConfigMap\nmetadata:\n"+
			"  labels:\n%s    z: x\n  name: c%d\n  namespace: default\n",
			strings.Repeat("a", 10_000), labels.String(), object)
	}
	one := func(object, stage int) int { return stage * min(1, object%7) }
	var keeper keeper
	var all [][]*kept
	for stage := range stages {
		var texts []string
		for i := range objects {
			texts = append(texts, text(i, one(i, stage)))
		}
		list, err := keeper.keep([]byte(strings.Join(texts, "---\n")))
		require.NoError(t, err)
		require.Len(t, list, objects)
		all = append(all, list)
	}
	bytes, bases, seen := 0, map[string]bool{}, map[*kept]bool{}
	for stage, list := range all {
		for i, k := range list {
			require.Equal(t, text(i, one(i, stage)), string(k.object().YAML))
			if !seen[k] {
				bytes += len(k.middle)
			}
			seen[k], bases[k.base] = true, true
		}
	}
	require.Len(t, bases, objects)
	require.Len(t, seen, objects+(stages-1)*(objects-8), "objects that a stage changed")
	require.Less(t, bytes, objects*stages*stages*10/2)
}

// TestKeepPaths: a definition says what the path of an object is, also if it comes after it.
func TestKeepPaths(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: example.com/v1\nkind: Ox\nmetadata: {name: a}\n"
	const definition = "---\napiVersion: apiextensions.k8s.io/v1\n" +
		"kind: CustomResourceDefinition\nmetadata: {name: oxen.example.com}\n" +
		"spec: {group: example.com, scope: Cluster, names: {kind: Ox, plural: oxen}}\n"
	var keeper keeper
	list, err := keeper.keep([]byte("# a comment\n---\n" + object))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "/apis/example.com/v1/Ox/a", list[0].Path)
	list, err = keeper.keep([]byte(object + definition))
	require.NoError(t, err)
	require.Equal(t, "/apis/example.com/v1/oxen/a", list[0].Path)
	require.Equal(t, object, string(list[0].object().YAML))
	_, err = keeper.keep([]byte("a: b\n"))
	require.Error(t, err)
}
