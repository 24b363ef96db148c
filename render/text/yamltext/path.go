package yamltext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/wording"
)

// Path leads to one value of a document. It names an element of a list by the element's name, where
// it has one, so that it leads to the same thing in another version of the document.
type Path []segment

// segment is one step of a path.
type segment struct {
	kind  segmentKind
	key   string // the key, or the name of the list's element; a flag's with its dashes
	index int    // of a list's element
}

type segmentKind int

const (
	byKey     segmentKind = iota // into a map
	byNumber                     // [3]
	byName                       // [etcd]
	valueOf                      // .v: the value of the element {name: v, value: ...}
	flagValue                    // [--v]: what follows the = of the string --v=...
	flagWhole                    // the whole string --v=...
)

const dashes = "--"

// nameKeys are the keys under which the elements of lists have their names.
var nameKeys = []string{"name", "path", "key", "host"}

// String returns the path as people write it.
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

// Keys returns the keys of a path; it has an empty one for an element of a list.
func (p Path) Keys() []string {
	out := make([]string, len(p))
	for i, s := range p {
		if s.kind == byKey {
			out[i] = s.key
		}
	}
	return out
}

// Path reads the path of a value that the document has. A path has keys with dots between them.
// [3] or [etcd] is an element of a list, by its number or name; [--v] is a flag of a command. A
// path that is a flag alone (--v) is looked for in all commands. Keys may contain dots themselves:
// the longest key that the document has wins. The error comes when there is no such value.
func (d Document) Path(text string) (Path, *wording.Unknown) {
	if strings.HasPrefix(text, dashes) {
		return d.flag(text)
	}
	var p Path
	n := d.root
	for rest := text; rest != ""; {
		s, after := next(n, rest)
		value, _ := s.step(n)
		if value == nil {
			parent := ""
			if len(p) > 0 {
				parent = " below " + p.String()
			}
			return nil, wording.NoSuch(s.key, names(n), "there is no %q%s", s.key, parent)
		}
		p, n, rest = append(p, s), value, after
	}
	return p, nil
}

// Nearest reads a path as Path does, as far as the document has it.
func (d Document) Nearest(text string) Path {
	var p Path
	n := d.root
	for text != "" {
		s, rest := next(n, text)
		value, _ := s.step(n)
		if value == nil {
			break
		}
		p, n, text = append(p, s), value, rest
	}
	return p
}

// PathAt returns the path of a location, with elements of lists named as Path does.
func (d Document) PathAt(at *Location) Path {
	if at.parent == nil {
		return nil
	}
	p := d.PathAt(at.parent)
	if at.key != "" {
		return p.below(at.key)
	}
	s := segment{kind: byNumber, key: strconv.Itoa(at.index), index: at.index}
	if n, _, steps := d.reach(p); steps == len(p) {
		s = element(n, at.index)
	}
	return append(slices.Clip(p), s)
}

// next reads the first step of a path from n, and returns the text after it.
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

func startsWithKey(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// element returns the step to an element of a list, by its name or flag if no other has it.
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

// names returns the keys of a map, or the names of a list's elements.
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

// nameOf returns the name of a list's element or, in a command, its flag; "" if it has neither.
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

// member returns the value under a key of a map, and the key's node; nil if there is none.
func member(n *yaml.Node, key string) (value, keyNode *yaml.Node) {
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

// step takes one step from n. It returns the value there and, in a map, the key's node; nil if the
// step leads nowhere. The values of a flag that stands in a command more than once are a list.
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
				if v, keyNode := member(e, "value"); v != nil {
					return v, keyNode
				}
				return e, nil
			}
		case flagValue:
			if _, text, ok := strings.Cut(e.Value, "="); ok && nameOf(e) == s.key {
				flags = append(flags, stringAt(text, e))
			}
		}
	}
	switch len(flags) {
	case 0:
		return nil, nil
	case 1:
		return flags[0], nil
	}
	first := flags[0]
	return &yaml.Node{
		Kind: yaml.SequenceNode, Tag: "!!seq", Content: flags,
		Line: first.Line, Column: first.Column,
	}, nil
}

func stringAt(text string, n *yaml.Node) *yaml.Node {
	return &yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.SingleQuotedStyle, Value: text,
		Line: n.Line, Column: n.Column,
	}
}

func (d Document) flag(name string) (Path, *wording.Unknown) {
	var found Path
	var known []string
	var walk func(n *yaml.Node, at Path)
	walk = func(n *yaml.Node, at Path) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				walk(n.Content[i+1], at.below(n.Content[i].Value))
			}
		case yaml.SequenceNode:
			s := segment{kind: flagValue, key: name}
			if v, _ := s.step(n); v != nil && found == nil {
				found = append(slices.Clip(at), s)
			}
			for i, e := range n.Content {
				if e.Kind == yaml.ScalarNode && nameOf(e) != "" {
					known = append(known, nameOf(e))
				}
				walk(e, append(slices.Clip(at), element(n, i)))
			}
		}
	}
	walk(d.root, nil)
	if found == nil {
		return nil, wording.NoSuch(name, known, "there is no flag %s", name)
	}
	return found, nil
}

func (p Path) below(key string) Path {
	return append(slices.Clip(p), segment{kind: byKey, key: key})
}
