// This file finds the part of an object that a strategic merge may change, so that kustomize
// gets that alone: it walks through all that it gets, in milliseconds. If one merge left a value as
// it was and did not name it, later merges that do not name it leave it too. So they need not see
// it. The merge itself is not here.

package patches

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Still holds the values that are known to stay as they are, unless a merge names them.
type Still map[*yaml.Node]bool

// Fields are the fields that a patch names, with those in each; nil if it may change all there.
type Fields map[string]Fields

// FieldsOf returns the fields that a value of a patch names.
func FieldsOf(n *yaml.Node) Fields {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	named := Fields{}
	for i := 0; i < len(n.Content); i += 2 {
		if strings.HasPrefix(n.Content[i].Value, "$") { // a directive
			return nil
		}
		named[n.Content[i].Value] = FieldsOf(n.Content[i+1])
	}
	return named
}

// And returns the fields that either names.
func (f Fields) And(g Fields) Fields {
	if f == nil || g == nil {
		return nil
	}
	both := maps.Clone(f)
	for name, inner := range g {
		if other, ok := f[name]; ok {
			inner = inner.And(other)
		}
		both[name] = inner
	}
	return both
}

// Rest is what a map has that kustomize does not get, and what the maps in it have.
type Rest struct {
	pairs []*yaml.Node
	below map[string]Rest
}

// Divide returns a map without the values that are still and have no name in f, and these. It
// changes no value, and notes that what lies in a map that is still is so too.
func (f Fields) Divide(n *yaml.Node, still Still) (reduced *yaml.Node, left Rest) {
	part := *n
	part.Content = nil
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		inner, named := f[key.Value]
		if still[n] {
			still[value] = true
		}
		if !named && still[value] {
			left.pairs = append(left.pairs, key, value)
			continue
		}
		if inner != nil && value.Kind == yaml.MappingNode {
			var below Rest
			value, below = inner.Divide(value, still)
			if left.below == nil {
				left.below = map[string]Rest{}
			}
			if !below.isEmpty() {
				left.below[key.Value] = below
			}
		}
		part.Content = append(part.Content, key, value)
	}
	return &part, left
}

func (r Rest) isEmpty() bool { return len(r.pairs)+len(r.below) == 0 }

// PutBack puts the rest into the merged map. It reports whether all of it has a place there.
func (r Rest) PutBack(merged *yaml.Node) bool {
	if merged == nil || merged.Kind != yaml.MappingNode {
		return r.isEmpty()
	}
	for name, below := range r.below {
		if !below.PutBack(under(merged, name)) {
			return false
		}
	}
	merged.Content = append(merged.Content, r.pairs...)
	return true
}

// Note notes the values of a map that have no name in f and are the same in the merged map.
func (f Fields) Note(part, merged *yaml.Node, still Still) {
	for i := 0; i < len(part.Content); i += 2 {
		value, after := part.Content[i+1], under(merged, part.Content[i].Value)
		switch inner, named := f[part.Content[i].Value]; {
		case after == nil:
		case !named && identical(value, after):
			still[after] = true
		case inner != nil && value.Kind == yaml.MappingNode && after.Kind == value.Kind:
			inner.Note(value, after, still)
		}
	}
}

// under returns the value of a key of a map, nil if there is none.
func under(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// identical reports whether two values have all in common that kustomize looks at.
func identical(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Style == b.Style && a.Tag == b.Tag && a.Value == b.Value &&
		a.Alias == b.Alias && a.HeadComment == b.HeadComment && a.LineComment == b.LineComment &&
		slices.EqualFunc(a.Content, b.Content, identical)
}

// Verdict is what the nodes of two values say of what kustomize writes.
type Verdict int

const (
	Same Verdict = iota
	Unclear
	Different
)

// Compare compares two nodes. It is unclear whether other numbers are written in another way: 1.0
// is written as 1, and a number in a ConfigMap as a string.
func Compare(a, b *yaml.Node) Verdict {
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return Different
	}
	found := Same
	if a.Value != b.Value || a.ShortTag() != b.ShortTag() {
		if found = Unclear; a.ShortTag() == "!!str" && b.ShortTag() == "!!str" {
			return Different
		}
	}
	for i := range a.Content {
		if found = max(found, Compare(a.Content[i], b.Content[i])); found == Different {
			break
		}
	}
	return found
}
