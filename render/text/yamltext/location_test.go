package yamltext_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// TestLocation reads paths of a document, and holds them to the values and positions there.
func TestLocation(t *testing.T) {
	t.Parallel()
	const text = `spec:
  list:
  - name: a
  - {name: b}
  labels: {example.com/zone: x, example: {com/zone: y}}
`
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
	root := doc.Content[0]
	spec := new(yamltext.Location).Key("spec").Omit()
	for _, row := range []struct {
		path, read   string
		found        bool
		line, column int
	}{
		{"list[1].name", "list[1].name", true, 4, 12},
		{"list[0]", "list[0]", true, 3, 5},
		{"list", "list", true, 2, 3},
		{"labels.example.com/zone", "labels.example.com/zone", true, 5, 30},
		{"list[7].name", "list[7].name", false, 2, 3},
		{"gone.far", "gone.far", false, 1, 1},
		{"list[x].name", "list", true, 2, 3},
	} {
		at := yamltext.Locate(root, spec, row.path)
		require.Equal(t, row.read, at.String(), row.path)
		value, _ := yamltext.Find(root, at)
		require.Equal(t, row.found, value != nil, row.path)
		line, column := yamltext.Position(root, at)
		require.Equal(t, [2]int{row.line, row.column}, [2]int{line, column}, row.path)
	}
	require.Equal(t, "spec", spec.String())
	require.Equal(t, 3, spec.Key("list").Index(0).Depth())
	require.Equal(t, "", spec.Parent().String())
	require.Nil(t, spec.Parent().Parent())
}
