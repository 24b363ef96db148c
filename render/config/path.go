package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln/render/suggest"
)

// Document is a YAML document in which values are found by their paths. No path leads through an alias.
type Document struct{ root *yaml.Node }

// Documents reads a stream of YAML documents as far as it is YAML; empty ones are left out.
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

// Path leads to one value of a document. An element of a list counts by its name where it has one, so that the path leads to the same
// thing in another version of the document.
type Path []segment

// segment is one step of a path.
type segment struct {
	kind  segmentKind
	key   string // the key, or the name of the list's element; a flag's with its dashes
	index int    // of a list's element
}

type segmentKind int

const (
	byKey     segmentKind = iota // into a mapping
	byNumber                     // [3]
	byName                       // [etcd]
	valueOf                      // .v: the value of the element {name: v, value: …}
	flagValue                    // [--v]: what stands behind the = of the text --v=…
	flagWhole                    // the text itself
)

// dashes begin a flag.
const dashes = "--"

// nameKeys are the keys by whose values the elements of lists are known.
var nameKeys = []string{"name", "path", "key", "host"}

// String returns the path as it is written.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch s.kind {
		case byNumber, flagWhole:
			fmt.Fprintf(&b, "[%d]", s.index)
		case byName, flagValue:
			b.WriteString("[" + s.key + "]")
		case byKey, valueOf:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// Path reads the path of a value that the document has: keys with dots between them; [3] or [etcd] for an element of a list, by its number or
// name; [--v] for a flag of a command. A flag alone is looked for in all commands. Keys may hold dots themselves: the longest one
// that the document has wins. It fails if there is nothing there.
func (d Document) Path(text string) (Path, *suggest.Unknown) {
	if strings.HasPrefix(text, dashes) {
		return d.flag(text)
	}
	var p Path
	n := d.root
	for rest := text; rest != ""; {
		s, after := next(n, rest)
		value, _ := s.step(n)
		if value == nil {
			around := ""
			if len(p) > 0 {
				around = " below " + p.String()
			}
			return nil, suggest.NoSuch(s.key, names(n), "there is no %q%s", s.key, around)
		}
		p, n, rest = append(p, s), value, after
	}
	return p, nil
}

// next reads the first step of a path, which leads on from n, and returns the rest.
func next(n *yaml.Node, text string) (s segment, rest string) {
	if inner, after, ok := strings.Cut(text, "]"); ok && inner != "" && inner[0] == '[' {
		inner = inner[1:]
		if i, err := strconv.Atoi(inner); err == nil {
			return element(n, i), after
		}
		if strings.HasPrefix(inner, dashes) {
			return segment{kind: flagValue, key: inner}, after
		}
		return segment{kind: byName, key: inner}, after
	}
	text = strings.TrimPrefix(text, ".")
	key := text
	if i := strings.IndexAny(text, ".["); i > 0 {
		key = text[:i]
	}
	for _, known := range names(n) {
		if len(known) > len(key) && startsWithKey(text, known) {
			key = known
		}
	}
	s = segment{kind: byKey, key: key}
	if n.Kind == yaml.SequenceNode {
		s.kind = valueOf
	}
	return s, text[len(key):]
}

// element is the step to the i-th element of a list: by its name or flag, if no other element has the same.
func element(n *yaml.Node, i int) segment {
	s := segment{kind: byNumber, key: strconv.Itoa(i), index: i}
	value, _ := s.step(n)
	if value == nil {
		return s
	}
	name := nameOf(value)
	if name == "" || slices.Index(names(n), name) != lastIndex(names(n), name) {
		return s
	}
	s.kind, s.key = byName, name
	if value.Kind == yaml.ScalarNode {
		s.kind = flagWhole
	}
	return s
}

func lastIndex(list []string, word string) int {
	for i, w := range slices.Backward(list) {
		if w == word {
			return i
		}
	}
	return -1
}

// names are the keys of a mapping, or what the elements of a list are known by.
func names(n *yaml.Node) (out []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, n.Content[i].Value)
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if name := nameOf(e); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// nameOf is what an element of a list is known by: its name or, in a command, its flag; empty if its number alone.
func nameOf(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		if flag, _, ok := strings.Cut(n.Value, "="); ok && strings.HasPrefix(flag, dashes) {
			return flag
		}
		return ""
	}
	for _, key := range nameKeys {
		if v, _ := member(n, key); v != nil && v.Kind == yaml.ScalarNode {
			return v.Value
		}
	}
	return ""
}

// member returns the value of a mapping's key and the key, nil if there is none.
func member(n *yaml.Node, key string) (value, at *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1], n.Content[i]
		}
	}
	return nil, nil
}

// Keys returns the keys of a path; an element of a list has an empty one.
func (p Path) Keys() []string {
	out := make([]string, len(p))
	for i, s := range p {
		if s.kind == byKey {
			out[i] = s.key
		}
	}
	return out
}

// step takes a step from n, and returns the key that it goes by as well if that is one of a mapping. It returns nil if it leads nowhere.
func (s segment) step(n *yaml.Node) (value, key *yaml.Node) {
	if s.kind == byKey {
		return member(n, s.key)
	}
	if n.Kind != yaml.SequenceNode {
		return nil, nil
	}
	var flags []*yaml.Node
	for i, e := range n.Content {
		switch s.kind {
		case byNumber:
			if i == s.index {
				return e, nil
			}
		case byName, flagWhole:
			if nameOf(e) == s.key {
				return e, nil
			}
		case valueOf:
			if nameOf(e) == s.key {
				if v, at := member(e, "value"); v != nil {
					return v, at
				}
				return e, nil
			}
		case flagValue:
			if _, text, ok := strings.Cut(e.Value, "="); ok && nameOf(e) == s.key {
				flags = append(flags, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.SingleQuotedStyle, Value: text, Line: e.Line, Column: e.Column})
			}
		}
	}
	switch len(flags) {
	case 0:
		return nil, nil
	case 1:
		return flags[0], nil
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: flags, Line: flags[0].Line, Column: flags[0].Column}, nil
}

// flag looks for a flag in all commands of a document.
func (d Document) flag(name string) (Path, *suggest.Unknown) {
	var found Path
	var all []string
	var walk func(n *yaml.Node, at Path)
	walk = func(n *yaml.Node, at Path) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				walk(n.Content[i+1], append(slices.Clip(at), segment{kind: byKey, key: n.Content[i].Value}))
			}
		case yaml.SequenceNode:
			s := segment{kind: flagValue, key: name}
			if v, _ := s.step(n); v != nil && found == nil {
				found = append(slices.Clip(at), s)
			}
			for i, e := range n.Content {
				if e.Kind == yaml.ScalarNode && nameOf(e) != "" {
					all = append(all, nameOf(e))
				}
				walk(e, append(slices.Clip(at), element(n, i)))
			}
		}
	}
	walk(d.root, nil)
	if found == nil {
		return nil, suggest.NoSuch(name, all, "there is no flag %s", name)
	}
	return found, nil
}

// reach goes along a path as far as it leads, and returns the value there, its key if it has one, and the number of steps.
func (d Document) reach(p Path) (value, key *yaml.Node, steps int) {
	value = d.root
	for i, s := range p {
		n, at := s.step(value)
		if n == nil {
			return value, key, i
		}
		value, key = n, at
	}
	return value, key, len(p)
}

// Value returns the value at a path, and whether there is one.
func (d Document) Value(p Path) (value any, ok bool) {
	n, _, steps := d.reach(p)
	if steps < len(p) || n.Decode(&value) != nil {
		return nil, false
	}
	return value, true
}

// Position returns line and column of the value at a path or, if that does not lead so far, of where it ends, and after how many steps.
func (d Document) Position(p Path) (line, column, steps int) {
	n, key, steps := d.reach(p)
	if key != nil && n.Kind != yaml.ScalarNode && n.Line > key.Line {
		n = key
	}
	return n.Line, n.Column, steps
}

// Mapping says that the document is a mapping.
func (d Document) Mapping() bool { return d.root.Kind == yaml.MappingNode }

// values returns the paths of all values at and below a path that are no mappings, or empty ones.
func (d Document) values(p Path) (paths []Path) {
	n, _, steps := d.reach(p)
	if steps < len(p) {
		return nil
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return []Path{p}
	}
	for _, key := range names(n) {
		paths = append(paths, d.values(append(slices.Clip(p), segment{kind: byKey, key: key}))...)
	}
	return paths
}
