package explain

import (
	"fmt"
	"reflect"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/addons"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/yamltext"
)

// fileSources returns the sources of a file that goes through no stages: the fields of the
// configuration that it is made from and the files that they name, or kiln if there are none.
func (r *Explainer) fileSources(f *node.File) (out []config.Place) {
	c := r.Plan.Config
	for _, field := range f.From {
		if c.Has(field) {
			out = append(out, c.Place(field, "", nil))
		}
		if c.Has(field + ".contentFrom") {
			out = append(out, c.TextPlace(field, "content", "contentFrom", 0, 0))
		}
	}
	if len(out) == 0 {
		out = append(out, config.Place{By: plan.Kiln.By})
	}
	return out
}

// lineSource returns the source of one line of a file that goes through no stages. Only the user's
// own files have a source for each line; a file that kiln generates has kiln as a whole.
func (r *Explainer) lineSource(f *node.File, line, column int) config.Place {
	c := r.Plan.Config
	if len(f.From) == 1 && (c.Has(f.From[0]+".content") || c.Has(f.From[0]+".contentFrom")) {
		return c.TextPlace(f.From[0], "content", "contentFrom", line, column)
	}
	if f.Why == node.FromConfig {
		return r.fileSources(f)[0]
	}
	return config.Place{By: plan.Kiln.By}
}

// stageSource returns the line that a stage takes the value at path p of object o from: in a base
// manifest, a patch, an add-on or the configuration. The place has no line where the stage computes
// the value, and where an add-on is a folder.
func (r *Explainer) stageSource(
	from plan.Origin, o manifests.Object, p yamltext.Path,
) config.Place {
	c := r.Plan.Config
	if from == plan.Base {
		file, manifest := manifests.File(o.Kind, o.Name)
		if file == "" {
			return config.Place{By: plan.Kiln.By}
		}
		line, column := positionInStream(manifest, o, p)
		return config.Place{File: file, Line: line, Column: column, By: from.By}
	}
	if patch, ok := r.PatchText(from.Field); ok {
		var value any
		if docs := yamltext.Documents(o.YAML); len(docs) > 0 {
			value, _ = docs[0].Value(p)
		}
		line, column := positionInPatch(patch, p, value)
		return c.TextPlace(from.Field, "patch", "patchFrom", line, column)
	}
	for i, a := range c.Spec.Addons {
		if addons.Field(i) == from.Field && c.Folder(a.Path) == nil {
			line, column := positionInStream(c.Text(a.Path), o, p)
			return config.Place{File: a.Path, Line: line, Column: column, Field: from.Field}
		}
	}
	if from.Field == "" {
		return config.Place{By: from.By}
	}
	return c.Place(from.Field, from.By, p)
}

// positionInStream returns line and column of the value at p of object o, or of the nearest map or
// list around it; 0 without the object.
func positionInStream(stream []byte, o manifests.Object, p yamltext.Path) (line, column int) {
	made := yamltext.Documents(o.YAML)
	for _, d := range yamltext.Unpack(yamltext.Documents(stream)) {
		if stringAt(d, "kind") != o.Kind || stringAt(d, "metadata.name") != o.Name {
			continue
		}
		if len(made) > 0 && !sameObject(d, made[0]) {
			continue
		}
		line, column, _ = d.Position(p)
	}
	return line, column
}

// sameObject reports whether two documents of one kind and name are the same object. A patch may
// give an object a namespace that its file leaves out.
func sameObject(a, b yamltext.Document) bool {
	for _, path := range []string{"apiVersion", "metadata.namespace"} {
		of, other := stringAt(a, path), stringAt(b, path)
		if of != "" && other != "" && of != other {
			return false
		}
	}
	return true
}

func stringAt(d yamltext.Document, path string) string {
	p, unknown := d.Path(path)
	if unknown != nil {
		return ""
	}
	value, _ := d.Value(p)
	s, _ := value.(string)
	return s
}

// positionInPatch returns line and column of the part of a patch that sets the value at path p, or
// the nearest map or list around it; 0 stands for the patch as a whole. It reads strategic merge
// patches and JSON patches. Several operations of a JSON patch may set elements of one list: the
// one with the value counts.
func positionInPatch(patch string, p yamltext.Path, value any) (line, column int) {
	best, exact := 0, false
	for _, d := range yamltext.Documents([]byte(patch)) {
		if d.IsMap() {
			if l, c, steps := d.Position(p); steps > best {
				best, line, column = steps, l, c
			}
			continue
		}
		for i := 0; ; i++ {
			op, unknown := d.Path(fmt.Sprintf("[%d].path", i))
			if unknown != nil {
				break
			}
			at, _ := d.Value(op)
			pointer, _ := at.(string)
			steps := pointerSteps(pointer, p.Keys())
			sets := setsValue(d, i, value)
			if steps > best || steps > 0 && steps == best && sets && !exact {
				best, exact = steps, sets
				line, column, _ = d.Position(op)
			}
		}
	}
	return line, column
}

// setsValue reports whether the i-th operation has a value, as it is or behind a flag's name.
func setsValue(d yamltext.Document, i int, value any) bool {
	at, unknown := d.Path(fmt.Sprintf("[%d].value", i))
	if unknown != nil {
		return false
	}
	set, _ := d.Value(at)
	word, isString := set.(string)
	end, _ := value.(string)
	return reflect.DeepEqual(set, value) || isString && strings.HasSuffix(word, "="+end)
}

// pointerSteps returns how many steps a JSON pointer (RFC 6901) has if it is a beginning of the
// path with these keys, and 0 if it leads elsewhere. An empty key is an element of a list: it
// matches every step, because the pointer has the element's number.
func pointerSteps(pointer string, keys []string) int {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if len(steps) > len(keys) {
		return 0
	}
	for i, step := range steps {
		if keys[i] != "" && strings.NewReplacer("~1", "/", "~0", "~").Replace(step) != keys[i] {
			return 0
		}
	}
	return len(steps)
}
