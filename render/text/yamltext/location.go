package yamltext

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Location is the place of a value in a document: the keys and list indices that lead to it from
// the root. It becomes a path such as nodes[2].addresses[0] only in a message. The zero value is
// the root of a document.
type Location struct {
	parent *Location // nil for the root
	key    string    // "" for an element of a list
	index  int
	omit   bool // left out of the paths of everything below it

	line, column int // of the key, if its node is known
}

// Key returns the location of the value under a key of a map.
func (l *Location) Key(key string) *Location { return &Location{parent: l, key: key} }

// KeyNode returns the location of the value under a key of a map, with the position of the key.
func (l *Location) KeyNode(key *yaml.Node) *Location {
	return &Location{parent: l, key: key.Value, line: key.Line, column: key.Column}
}

// MissingKey returns the location of a key that the map at l does not have: the map's position.
func (l *Location) MissingKey(key string) *Location {
	return &Location{parent: l, key: key, line: l.line, column: l.column}
}

// Index returns the location of an element of a list.
func (l *Location) Index(i int) *Location { return &Location{parent: l, index: i} }

// Omit leaves the location out of the paths of everything below it, and returns it.
func (l *Location) Omit() *Location {
	l.omit = true
	return l
}

// Parent returns the location of the map or list around the value, nil for the root.
func (l *Location) Parent() *Location { return l.parent }

// Depth returns the number of keys and indices that lead to the value.
func (l *Location) Depth() int {
	n := 0
	for ; l.parent != nil; l = l.parent {
		n++
	}
	return n
}

// String returns the path as messages show it. The path of the root is "".
func (l *Location) String() string {
	if l == nil || l.parent == nil {
		return ""
	}
	prefix := ""
	if !l.parent.omit {
		prefix = l.parent.String()
	}
	switch {
	case l.key == "":
		return prefix + "[" + strconv.Itoa(l.index) + "]"
	case prefix == "":
		return l.key
	default:
		return prefix + "." + l.key
	}
}

// Position returns line and column of n, the value at the location. A block list or map begins on
// the line after its key, where a reader would see its first element: it has the position of the
// key.
func (l *Location) Position(n *yaml.Node) (line, column int) {
	if l.line > 0 && n.Line > l.line && n.Kind != yaml.ScalarNode {
		return l.line, l.column
	}
	return n.Line, n.Column
}

// Find returns the value at a location and the node of its key, nil if the document has none.
func Find(root *yaml.Node, at *Location) (value, key *yaml.Node) {
	if root == nil || at.parent == nil {
		return root, nil
	}
	parent, _ := Find(root, at.parent)
	switch {
	case parent == nil:
	case at.key != "" && parent.Kind == yaml.MappingNode:
		return member(parent, at.key)
	case at.key == "" && parent.Kind == yaml.SequenceNode && at.index < len(parent.Content):
		return parent.Content[at.index], nil
	}
	return nil, nil
}

// Position returns line and column of a value, or of the nearest one around it.
func Position(root *yaml.Node, at *Location) (line, column int) {
	for ; at != nil; at = at.parent {
		value, key := Find(root, at)
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

// Locate reads a path as messages show it, which leads on from a location. Keys may contain dots
// (labels.example.com/zone): the longest key that the document has wins. Locate returns the
// location before the first step that it cannot read.
func Locate(root *yaml.Node, from *Location, path string) *Location {
	at := from
	for path != "" {
		if rest, ok := strings.CutPrefix(path, "["); ok {
			digits, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(digits)
			if err != nil || i < 0 {
				return at
			}
			at, path = at.Index(i), after
			continue
		}
		path = strings.TrimPrefix(path, ".")
		key := path
		if i := strings.IndexAny(path, ".["); i > 0 {
			key = path[:i]
		}
		if parent, _ := Find(root, at); parent != nil && parent.Kind == yaml.MappingNode {
			for _, known := range names(parent) {
				if len(known) > len(key) && startsWithKey(path, known) {
					key = known
				}
			}
		}
		if key == "" {
			return at
		}
		at, path = at.Key(key), path[len(key):]
	}
	return at
}
