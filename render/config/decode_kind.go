package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

func (d decoder) reportWrongKind(n *yaml.Node, want string, at *yamltext.Location) {
	if isNull(n) {
		d.breakAt(n, at, "has no value; write a %s or remove the key", want)
		return
	}
	if isTemplate(n) {
		d.breakAt(n, at, "%s", unexpanded)
		return
	}
	d.breakAt(n, at, "want a %s, got %s%s", want, aKind(n), remedies[want])
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!null"
}

func (d decoder) reportNoMap(n *yaml.Node, known *fieldList, at *yamltext.Location) {
	field, missing := "", ""
	if n.Kind == yaml.ScalarNode {
		field, missing = splitKey(n.Value, known)
	}
	example := exampleOf(known)
	if flag := flagIn(n, known); flag != "" {
		example = flag
	} else if meant := fieldOfValue(n.Value, known); meant != "" {
		example = meant
	}
	switch {
	case field != "":
		d.breakAt(n, at, `%s; write "%s: " before the value`, missing, field)
	case isNull(n) || example == "":
		d.reportWrongKind(n, kindMap, at)
	default:
		d.breakAt(n, at, "want a map, got %s; write it like %s", aKind(n), example)
	}
}

// reportNoList reports a value that is not a list. known are the keys of the list's items, nil if
// these are not maps.
func (d decoder) reportNoList(n *yaml.Node, known *fieldList, at *yamltext.Location) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 || known == nil {
		d.reportWrongKind(n, kindList, at)
		return
	}
	first := n.Content[0]
	if known.byName[first.Value] == nil {
		example := exampleOf(known)
		if flag := flagIn(first, known); flag != "" {
			example = flag
		}
		d.breakAt(n, at, "want a list, got a map; "+
			"write each entry on a line of its own, like - %s", example)
		return
	}
	d.breakAt(first, at, `want a list, got a map; write "- " before %s, `+
		"and indent the keys below it alike", first.Value)
}

// flagIn returns how a flag is written that stands as a string, such as --v=2, or as a key. It
// returns "" if n has no name of a flag, or the known keys are not those of flags.
func flagIn(n *yaml.Node, known *fieldList) string {
	if known != structs[reflect.TypeFor[Arg]()] || n.Kind != yaml.ScalarNode {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(n.Value, "-"), "=")
	if !flagName.MatchString(name) {
		return ""
	}
	return fmt.Sprintf(`{name: %s, value: "…"}`, name)
}

// reportStrays reports keys of a list's last item that are not indented like the item, and hides
// them here and there. n is the map with the list.
func (d decoder) reportStrays(n *yaml.Node, t reflect.Type, at *yamltext.Location) {
	known := structs[t]
	for i := 2; i+1 < len(n.Content); i += 2 {
		key, list := n.Content[i], n.Content[i-1]
		f := known.byName[n.Content[i-2].Value]
		if f == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
			continue
		}
		last := len(list.Content) - 1
		item := list.Content[last]
		fields := structs[elem(t.FieldByIndex(f.index).Type)]
		isStray := func(key *yaml.Node) bool {
			return known.byName[key.Value] == nil && fields.byName[key.Value] != nil
		}
		if fields == nil || item.Kind != yaml.MappingNode || item.Style&yaml.FlowStyle != 0 ||
			len(item.Content) == 0 || !isStray(key) {
			continue
		}
		there := at.Key(f.name).Index(last)
		d.breakAt(key, at.Key(key.Value), "belongs to %s; indent it by %d spaces, like %s",
			there, item.Content[0].Column-1, item.Content[0].Value)
		for j := i; j < len(n.Content); j += 2 {
			if isStray(n.Content[j]) {
				d.hide(at.Key(n.Content[j].Value).String())
				d.hide(there.Key(n.Content[j].Value).String())
			}
		}
	}
}

// beginsItem reports whether the i-th node of a map, a key that the map has already, begins another
// item of the list around it: the map's first key is there again, and one more.
func beginsItem(n *yaml.Node, i int, at *yamltext.Location) bool {
	if n.Content[i].Value != n.Content[0].Value || n.Style&yaml.FlowStyle != 0 ||
		!strings.HasSuffix(at.String(), "]") {
		return false
	}
	for j := 2; j < i; j += 2 {
		for k := i + 2; k < len(n.Content); k += 2 {
			if n.Content[j].Value == n.Content[k].Value {
				return true
			}
		}
	}
	return false
}

// The kinds of values, as the documentation and the messages name them.
const (
	kindString   = "string"
	kindBoolean  = "boolean"
	kindNumber   = "number"
	kindDuration = "duration"
	kindList     = "list"
	kindMap      = "map"
)

func aKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "a string"
}

// remedies say how to write a value of a kind, for the kinds that people miss.
var remedies = map[string]string{
	kindList:    `; write each entry on a line of its own behind "- "`,
	kindMap:     "; write its fields as key: value",
	kindBoolean: "; write true or false",
}
