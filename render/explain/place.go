package explain

import (
	"fmt"
	"strings"

	"kiln/manifests"
	"kiln/render/assembly"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/yamlpath"
)

// sources are the entries of the configuration that a file without stages is made from, and the file that its text comes from.
func (r explainer) sources(f *node.File) (out []config.Place) {
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

// sourceOf is where a line of a file without stages is written, if that is in the user's text; of the files that kiln writes no more can be
// said of a single value.
func (r explainer) sourceOf(f *node.File, line, column int) config.Place {
	c := r.Plan.Config
	if len(f.From) == 1 && (c.Has(f.From[0]+".content") || c.Has(f.From[0]+".contentFrom")) {
		return c.TextPlace(f.From[0], "content", "contentFrom", line, column)
	}
	if f.Why == node.FromConfig {
		return r.sources(f)[0]
	}
	return config.Place{By: plan.Kiln.By}
}

// place is where it is written what the value at a path of an object is to be, as far as that can be told.
func (r explainer) place(from plan.Origin, o manifests.Object, p yamlpath.Path) config.Place {
	c := r.Plan.Config
	if from == plan.Base {
		file, text := manifests.File(o.Kind, o.Name)
		if file == "" {
			return config.Place{By: plan.Kiln.By}
		}
		line, column := inStream(text, o, p)
		return config.Place{File: file, Line: line, Column: column, By: from.By}
	}
	if patch, ok := r.PatchText(from.Field); ok {
		line, column := inPatch(patch, p)
		return c.TextPlace(from.Field, "patch", "patchFrom", line, column)
	}
	for i, a := range c.Spec.Addons {
		if assembly.AddonField(i) == from.Field && c.Folder(a.Path) == nil {
			line, column := inStream(c.Text(a.Path), o, p)
			return config.Place{File: a.Path, Line: line, Column: column, Field: from.Field}
		}
	}
	if from.Field == "" {
		return config.Place{By: from.By}
	}
	return c.Place(from.Field, from.By, p)
}

// inStream returns line and column of a value of an object in a stream of manifests, or of what is around it there.
func inStream(stream []byte, o manifests.Object, p yamlpath.Path) (line, column int) {
	for _, d := range yamlpath.Documents(stream) {
		if text(d, "kind") == o.Kind && text(d, "metadata.name") == o.Name {
			line, column, _ = d.Position(p)
		}
	}
	return line, column
}

// text returns the text at a path of a document, empty if there is none.
func text(d yamlpath.Document, path string) string {
	p, unknown := d.Path(path)
	if unknown != nil {
		return ""
	}
	value, _ := d.Value(p)
	s, _ := value.(string)
	return s
}

// inPatch returns line and column in a patch of what it says about the value at a path, or of what is around it; 0 of the patch as a whole.
func inPatch(patch string, p yamlpath.Path) (line, column int) {
	best := 0
	for _, d := range yamlpath.Documents([]byte(patch)) {
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
			value, _ := d.Value(op)
			pointer, _ := value.(string)
			if steps := leads(pointer, p.Keys()); steps > best {
				best = steps
				line, column, _ = d.Position(op)
			}
		}
	}
	return line, column
}

// leads returns how many steps a JSON pointer (RFC 6901) takes on the way that the keys of a path go, 0 if it leads elsewhere. An empty key is an
// element of a list, of which the pointer may tell any number.
func leads(pointer string, keys []string) int {
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
