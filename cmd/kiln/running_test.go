package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/plan"
)

// runs FILE MACHINE... writes what kubectl get nodes -o json says of machines. A MACHINE is
// DIR/NAME, with DIR the folder of documents that has the one which it runs; DIR/pools/POOL:NAME
// for a machine of a pool; unknown/NAME for a document that nobody has, and silent/NAME for a Node
// that does not say what it runs. "=HOOK" after it is what the hook says, in place of done.
func runs(ts *testscript.TestScript, _ bool, args []string) {
	items := []map[string]any{}
	for _, arg := range args[1:] {
		machine, hook, given := strings.Cut(arg, "=")
		if !given {
			hook = "done done"
		}
		dir, name, _ := strings.Cut(machine, "/")
		document, node, ok := strings.Cut(name, ":")
		if !ok {
			node = name
		}
		annotations := map[string]string{running.HookAnnotation: hook}
		switch dir {
		case "silent":
			clear(annotations)
		case "unknown":
			annotations[running.TwinAnnotation] = strings.Repeat("0", 64)
		default:
			c, err := render.DocumentsState(ts.MkAbs(dir))
			ts.Check(err)
			for _, m := range c.Machines {
				if plan.Folder(m.Name, m.Pool) == document {
					annotations[running.TwinAnnotation] = m.Twin
				}
			}
		}
		items = append(items, map[string]any{
			"kind": "Node", "metadata": map[string]any{"name": node, "annotations": annotations},
			"status": map[string]any{"conditions": []map[string]string{
				{"type": "Ready", "status": "True"},
			}, "nodeInfo": map[string]string{"kubeletVersion": "v1.36.3"}},
		})
	}
	data, err := json.Marshal(map[string]any{"kind": "List", "items": items})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
