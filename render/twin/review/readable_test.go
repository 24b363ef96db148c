package review

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// TestReadable: API objects are YAML for people, and other files are as they are on the machine.
func TestReadable(t *testing.T) {
	t.Parallel()
	const object = `{"data":{"a":"b\nc\n"},"kind":"X"}` + "\n"
	for _, row := range []struct{ path, content, want string }{
		{plan.ObjectsDir + "000-x.yaml", object, "data:\n  a: |\n    b\n    c\nkind: X\n"},
		{plan.KilnDir + "/node.yaml", object, "data:\n  a: |\n    b\n    c\nkind: X\n"},
		{plan.ObjectsDir + "000-x.yaml", "kind: X # YAML\n", "kind: X # YAML\n"},
		{plan.ObjectsDir + "index", object, object},
		{"/etc/x.yaml", object, object},
	} {
		got := readable(&node.File{Path: row.path, Content: []byte(row.content)})
		require.Equal(t, row.want, string(got), row.path)
	}
}
