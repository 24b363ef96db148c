// Package yamltext reads YAML that others wrote. It refuses what would cost a parser much work,
// finds values and says in which line and column they are, and finds the place where a document
// stops to be YAML. A Path is what people write; it names elements of lists. A Location is what a
// program has gone through; it counts them.
package yamltext

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a YAML document with values by their paths. None leads through an alias.
type Document struct{ root *yaml.Node }

// NewDocument returns the document whose outermost value is root.
func NewDocument(root *yaml.Node) Document { return Document{root} }

// Documents reads a stream, without empty documents, up to the first that is not YAML.
func Documents(stream []byte) (docs []Document) {
	dec := yaml.NewDecoder(strings.NewReader(string(stream)))
	for {
		var n yaml.Node
		if dec.Decode(&n) != nil {
			return docs
		}
		if len(n.Content) > 0 && n.Content[0].ShortTag() != "!!null" {
			docs = append(docs, Document{n.Content[0]})
		}
	}
}

// Unpack puts the items of lists in their place. One without a kind has that of its list.
func Unpack(docs []Document) (all []Document) {
	for _, d := range docs {
		kind, hasKind := d.Member("kind")
		items, hasItems := d.Member("items")
		if !hasKind || !hasItems || !strings.HasSuffix(kind.root.Value, "List") ||
			items.root.Kind != yaml.SequenceNode && items.root.Tag != "!!null" {
			all = append(all, d)
			continue
		}
		for _, item := range items.root.Content {
			if one, _ := member(item, "kind"); one == nil && item.Kind == yaml.MappingNode {
				own := *item
				own.Content = slices.Concat(item.Content, []*yaml.Node{
					{Kind: yaml.ScalarNode, Value: "kind", Line: item.Line},
					{Kind: yaml.ScalarNode, Value: strings.TrimSuffix(kind.root.Value, "List"),
						Line: item.Line},
				})
				item = &own
			}
			all = append(all, Unpack([]Document{{item}})...)
		}
	}
	return all
}

// reach follows a path as far as it leads: the value, its key's node, and the number of steps.
func (d Document) reach(p Path) (value, key *yaml.Node, steps int) {
	value = d.root
	for i, s := range p {
		n, keyNode := s.step(value)
		if n == nil {
			return value, key, i
		}
		value, key = n, keyNode
	}
	return value, key, len(p)
}

// Value returns the value at a path. ok reports whether there is one.
func (d Document) Value(p Path) (value any, ok bool) {
	n, _, steps := d.reach(p)
	if steps < len(p) || n.Decode(&value) != nil {
		return nil, false
	}
	return value, true
}

// Position returns line and column of the value at a path. If the path does not lead so far, they
// are those of the last value that it reaches, after that many steps.
func (d Document) Position(p Path) (line, column, steps int) {
	n, key, steps := d.reach(p)
	if key != nil && n.Kind != yaml.ScalarNode && n.Line > key.Line {
		n = key
	}
	return n.Line, n.Column, steps
}

// IsMap reports whether the document is a map.
func (d Document) IsMap() bool { return d.root.Kind == yaml.MappingNode }

// Names returns the keys of a document that is a map, or the names of the elements of a list.
func (d Document) Names() []string { return names(d.root) }

// Member returns the value under a key of a document, if that is a map with it.
func (d Document) Member(key string) (value Document, ok bool) {
	n, _ := member(d.root, key)
	return Document{n}, n != nil
}

// Leaves returns the paths of all values at and below a path that are not maps with keys.
func (d Document) Leaves(p Path) (paths []Path) {
	n, _, steps := d.reach(p)
	if steps < len(p) {
		return nil
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return []Path{p}
	}
	for _, key := range names(n) {
		paths = append(paths, d.Leaves(p.below(key))...)
	}
	return paths
}

// Blocks reports whether a path meets a value that is no map: below it the document has nothing.
func (d Document) Blocks(p Path) bool {
	n, _, steps := d.reach(p)
	return steps > 0 && n.Kind != yaml.MappingNode
}
