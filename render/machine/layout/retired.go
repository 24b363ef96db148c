package layout

import (
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// Retired returns the files of a document that the hook removes at the end of the first boot. It
// may remove them earlier, when their time is over.
func Retired(n *node.Node) map[string]bool {
	out := map[string]bool{}
	f := n.File(plan.KilnDir + "/machine")
	if f == nil {
		return out
	}
	settings, _ := ReadSettings(f.Content)
	for _, s := range settings {
		if s.Name == "retire" {
			for path := range strings.FieldsSeq(s.Value) {
				out[path] = true
			}
		}
	}
	return out
}
