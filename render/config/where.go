package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln/render/yamlpath"
)

// where is the place of a value in the document: a chain of keys and list indices that ends at the root. It becomes
// a path such as nodes[2].addresses[0] only when there is something to say about it.
type where struct {
	up     *where
	name   string // the key, or "" for a list's element
	index  int
	hidden bool // not shown in front of what lies below it: "spec"

	line, column int // of the key, while decoding
}

// key returns the place of a mapping's value.
func (w *where) key(name string) *where { return &where{up: w, name: name} }

// at returns the place of a list's element.
func (w *where) at(i int) *where { return &where{up: w, index: i} }

// depth returns how many keys and indices lead to the place.
func (w *where) depth() int {
	n := 0
	for ; w.up != nil; w = w.up {
		n++
	}
	return n
}

// String returns the path, without the leading "spec.".
func (w *where) String() string {
	if w == nil || w.up == nil {
		return ""
	}
	prefix := ""
	if !w.up.hidden {
		prefix = w.up.String()
	}
	switch {
	case w.name == "":
		return prefix + "[" + strconv.Itoa(w.index) + "]"
	case prefix == "":
		return w.name
	default:
		return prefix + "." + w.name
	}
}

// place returns line and column of n, the value at w. A block list or mapping starts on the line after its key,
// where only its first element would be seen, so the key stands for it.
func (w *where) place(n *yaml.Node) (line, column int) {
	if w.line > 0 && n.Line > w.line && n.Kind != yaml.ScalarNode {
		return w.line, w.column
	}
	return n.Line, n.Column
}

// top returns the root of a document, and the place of its spec.
func top() (root, spec *where) {
	root = &where{}
	return root, &where{up: root, name: "spec", hidden: true}
}

// find returns the value at a place and the key in front of it, nil if the document has none.
func find(root *yaml.Node, at *where) (value, key *yaml.Node) {
	if root == nil || at.up == nil {
		return root, nil
	}
	parent, _ := find(root, at.up)
	switch {
	case parent == nil:
	case at.name != "" && parent.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(parent.Content); i += 2 {
			if parent.Content[i].Value == at.name {
				return parent.Content[i+1], parent.Content[i]
			}
		}
	case at.name == "" && parent.Kind == yaml.SequenceNode && at.index < len(parent.Content):
		return parent.Content[at.index], nil
	}
	return nil, nil
}

// position returns line and column of a place, or of the nearest one around it that the document has.
func position(root *yaml.Node, at *where) (line, column int) {
	for ; at != nil; at = at.up {
		value, key := find(root, at)
		if value == nil {
			continue
		}
		if key != nil && value.Kind != yaml.ScalarNode && value.Line > key.Line {
			return key.Line, key.Column
		}
		return value.Line, value.Column
	}
	return 0, 0
}

// inSpec reports whether the place is below spec.
func (w *where) inSpec() bool {
	for ; w != nil; w = w.up {
		if w.hidden {
			return true
		}
	}
	return false
}

// parseWhere reads a path as messages show it. Keys may hold dots (labels.example.com/zone), so the document decides
// where a key ends: the longest one that it has wins.
func parseWhere(root *yaml.Node, path string) *where {
	at, spec := top()
	first, _, _ := strings.Cut(path, ".")
	if first != "apiVersion" && first != "kind" && first != "metadata" {
		at = spec
	}
	for path != "" {
		if rest, ok := strings.CutPrefix(path, "["); ok {
			digits, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(digits)
			if err != nil || i < 0 {
				return at
			}
			at, path = at.at(i), after
			continue
		}
		path = strings.TrimPrefix(path, ".")
		key := path
		if i := strings.IndexAny(path, ".["); i > 0 {
			key = path[:i]
		}
		if parent, _ := find(root, at); parent != nil && parent.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(parent.Content); i += 2 {
				if k := parent.Content[i].Value; len(k) > len(key) && yamlpath.StartsWithKey(path, k) {
					key = k
				}
			}
		}
		if key == "" {
			return at
		}
		at, path = at.key(key), path[len(key):]
	}
	return at
}
