package config

import "go.yaml.in/yaml/v3"

// The kinds of values, as the documentation and the messages name them.
const (
	kindString   = "string"
	kindBoolean  = "boolean"
	kindNumber   = "number"
	kindDuration = "duration"
	kindList     = "list"
	kindMap      = "map"
)

// aKind returns what a node is, with its article.
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
