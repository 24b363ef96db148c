package config

import (
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// strings decodes a map with free keys whose values are strings.
func (d decoder) strings(n *yaml.Node, v reflect.Value, at *yamltext.Location) {
	if n.Kind != yaml.MappingNode {
		d.reportWrongKind(n, kindMap, at)
		return
	}
	m := make(map[string]string, len(n.Content)/2)
	d.pairs(n, at, func(key, value *yaml.Node, here *yamltext.Location) {
		if !d.freeKey(key, here) || !d.plain(value, here) {
			return
		}
		if s, ok := d.string(value, here); ok {
			m[key.Value] = s
		}
	})
	v.Set(reflect.ValueOf(m))
}

// freeKey reports a key that some parsers do not read as a string. ok reports whether it can be
// used.
func (d decoder) freeKey(key *yaml.Node, at *yamltext.Location) (ok bool) {
	if key.Style != 0 || key.ShortTag() == "!!str" && !booleanWord.MatchString(key.Value) {
		return d.characters(key, at)
	}
	d.breakAt(key, at, "not every program reads this key as a string; write it in quotes: %q",
		key.Value)
	return false
}

// free decodes a value of a field that belongs to another program: any YAML that all parsers read
// in the same way. Maps become map[string]any, lists []any, scalars string, int64, float64, bool or
// nil.
func (d decoder) free(n *yaml.Node, at *yamltext.Location) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		d.pairs(n, at, func(key, value *yaml.Node, here *yamltext.Location) {
			if d.freeKey(key, here) && d.plain(value, here) {
				m[key.Value] = d.free(value, here)
			}
		})
		return m
	case yaml.SequenceNode:
		s := make([]any, len(n.Content))
		for i, c := range n.Content {
			if here := at.Index(i); d.plain(c, here) {
				s[i] = d.free(c, here)
			}
		}
		return s
	}
	return d.freeScalar(n, at)
}

// freeScalar decodes a scalar of a free value. It returns the string in the file if it reports a
// problem.
func (d decoder) freeScalar(n *yaml.Node, at *yamltext.Location) any {
	if n.Style != 0 {
		d.characters(n, at)
		return n.Value
	}
	const outOfRange = "%s is out of range; write it in quotes if it is a string"
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		return nil
	case n.Value == "true" || n.Value == "false":
		return n.Value == "true"
	case tag == "!!bool" || booleanWord.MatchString(n.Value):
		d.breakAt(n, at, "%s is read as a boolean by some programs and as a string by others; "+
			"write true, false, or %q", n.Value, n.Value)
	case tag == "!!int" && decimalInt.MatchString(n.Value):
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i
		}
		d.breakAt(n, at, outOfRange, n.Value)
	case tag == "!!float" && decimalFloat.MatchString(n.Value):
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return x
		}
		d.breakAt(n, at, outOfRange, n.Value)
	case tag == "!!int" || tag == "!!float":
		d.breakAt(n, at, "%s is not a plain decimal number; "+
			"write it without leading zeros, _ or 0x, or in quotes if it is a string", n.Value)
	default:
		d.characters(n, at)
	}
	return n.Value
}
