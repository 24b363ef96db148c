package config

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// decoder fills the types from a YAML document. It walks the document itself, so that each problem
// has a line, and it accepts only what every YAML parser reads in the same way.
type decoder struct {
	*reporter
	lines [][]byte // of the document, if it may have tags that yaml.v3 drops; nil otherwise
}

// value decodes n into v, which f describes. If something does not fit, value reports it and leaves
// v as it is, or with what could be read of a list or map.
func (d decoder) value(n *yaml.Node, v reflect.Value, f *field, at *yamltext.Location) {
	if !d.plain(n, at) {
		return
	}
	switch t := v.Type(); {
	case t == durationType:
		if s, ok := d.string(n, at); ok {
			d.duration(n, s, v, at)
		}
	case t == freeMapType:
		if n.Kind != yaml.MappingNode {
			d.reportWrongKind(n, kindMap, at)
		} else {
			v.Set(reflect.ValueOf(d.free(n, at)))
		}
	case t == stringsType:
		d.strings(n, v, at)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		d.value(n, p.Elem(), f, at)
		v.Set(p)
	case t.Kind() == reflect.Struct:
		d.fields(n, v, at)
	case t.Kind() == reflect.Slice:
		d.list(n, v, f, at)
	case t.Kind() == reflect.String:
		if len(f.enum) > 0 && isBoolean(n) { // quotes would not help
			d.checkAllowed(n, n.Value, f, at)
		} else if s, ok := d.string(n, at); ok {
			v.SetString(s)
			d.checkAllowed(n, s, f, at)
		}
	case t.Kind() == reflect.Bool:
		d.bool(n, v, at)
	case t.Kind() == reflect.Int, t.Kind() == reflect.Uint32:
		d.int(n, v, at)
	}
}

// plain reports an alias, an anchor, a tag and too deep a value. ok reports whether it can be read.
func (d decoder) plain(n *yaml.Node, at *yamltext.Location) (ok bool) {
	if n.Anchor != "" {
		d.softAt(n, at, "anchors (&%s) are not allowed; remove it", n.Anchor)
	}
	const noTag = "tags (%s) are not allowed; remove it, and quote the value if it is a string"
	switch {
	case n.Kind == yaml.AliasNode:
		d.breakAt(n, at, "aliases (*%s) are not allowed; write the value out", n.Value)
		return false
	case n.Style&yaml.TaggedStyle != 0:
		d.breakAt(n, at, noTag, n.Tag)
		return false
	case n.Style == 0 && d.beginsWith(n, '!'):
		d.breakAt(n, at, noTag, "!")
		return false
	case at.Depth() > maxDepth:
		d.breakAt(n, at, "is nested too deeply; at most %d levels are read", maxDepth)
		return false
	}
	return true
}

// beginsWith reports whether the value n begins with c in the file. The node does not always say:
// yaml.v3 drops the tag "!", which makes other parsers read any scalar as a string.
func (d decoder) beginsWith(n *yaml.Node, c byte) bool {
	if n.Line < 1 || n.Line > len(d.lines) {
		return false
	}
	line := d.lines[n.Line-1]
	for range n.Column - 1 {
		if len(line) == 0 {
			return false
		}
		_, size := utf8.DecodeRune(line)
		line = line[size:]
	}
	return len(line) > 0 && line[0] == c
}

// pairs calls f for each key of a map that is a plain string, once, and reports the others.
func (d decoder) pairs(
	n *yaml.Node, at *yamltext.Location, f func(key, value *yaml.Node, at *yamltext.Location),
) {
	if count := len(n.Content) / 2; count > maxKeys {
		d.breakAt(n, at, "has %d keys; at most %d are read", count, maxKeys)
		return
	}
	seen := make(map[string]*yaml.Node, len(n.Content)/2) // the first key of each name
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		here := at.KeyNode(key)
		first := seen[key.Value]
		if first == nil && key.Kind == yaml.ScalarNode {
			seen[key.Value] = key
		}
		switch {
		case key.Kind == yaml.AliasNode:
			d.reportBadKey(key, at, "aliases (*%s) are not allowed; write the key out", key.Value)
		case key.Kind != yaml.ScalarNode:
			d.reportBadKey(key, at,
				"a key is a string, got %s; if this was meant as a value, put it into quotes",
				aKind(key))
		case key.ShortTag() == "!!merge":
			d.breakAt(key, here, "merge keys are not allowed; write the fields out")
		case key.Style&yaml.TaggedStyle != 0:
			d.breakAt(key, here, "tags (%s) are not allowed; remove it", key.Tag)
		case key.Value == "":
			d.reportBadKey(key, at, "a key is empty; write its name")
		case first != nil && beginsItem(n, i, at):
			d.breakAt(key, here, `begins another item of the list; write "- " before it`)
			return
		case first != nil && first.Line == key.Line:
			d.breakAt(key, here, "defined twice (in this line); remove one")
		case first != nil:
			d.breakAt(key, here, "defined twice (lines %d and %d); remove one",
				first.Line, key.Line)
		default:
			if key.Anchor != "" {
				d.softAt(key, here, "anchors (&%s) are not allowed; remove it", key.Anchor)
			}
			f(key, value, here)
		}
	}
}

// reportBadKey reports a key that names no field. The other keys of its map are still read.
func (d decoder) reportBadKey(key *yaml.Node, in *yamltext.Location, format string, args ...any) {
	d.add(key.Line, key.Column, in.String(), fmt.Sprintf(format, args...))
}

func (d decoder) fields(n *yaml.Node, v reflect.Value, at *yamltext.Location) {
	known := structs[v.Type()]
	if n.Kind != yaml.MappingNode {
		d.reportNoMap(n, known, at)
		return
	}
	d.reportStrays(n, v.Type(), at)
	var set fieldSet
	var present uint64
	d.pairs(n, at, func(key, value *yaml.Node, here *yamltext.Location) {
		f := known.byName[key.Value]
		if f == nil && d.isHidden(here) {
			return
		}
		if f == nil {
			d.reportUnknown(n, key, value, v.Type(), here)
			return
		}
		if f.name == "spec" && at.Parent() == nil {
			here.Omit()
		}
		present |= 1 << f.number
		if f.machine >= 0 {
			set |= 1 << f.machine
		}
		if f.required && isNull(value) {
			d.breakAt(value, here, "has no value; %s", remedyOf(f))
			return
		}
		target := v.FieldByIndex(f.index)
		d.value(value, target, f, here)
		if f.def != "" && target.IsZero() && !isZeroDefault(f.def) {
			d.reportZero(value, f, here)
		}
	})
	if m := machineOf(v); m != nil {
		m.set = set
	}
	for i := range known.list {
		if f := &known.list[i]; f.required && present&(1<<i) == 0 {
			d.reportMissing(n, f, at)
		}
	}
}

// machineOf returns the Machine that v is or has inline, nil if it has none.
func machineOf(v reflect.Value) *Machine {
	switch p := v.Addr().Interface().(type) {
	case *Machine:
		return p
	case *Node:
		return &p.Machine
	case *Pool:
		return &p.Machine
	}
	return nil
}

func (d decoder) reportMissing(n *yaml.Node, f *field, at *yamltext.Location) {
	if d.isHidden(at.Key(f.name)) {
		return
	}
	d.breakAt(n, at.MissingKey(f.name), "missing; %s", remedyOf(f))
}

func remedyOf(f *field) string {
	switch {
	case len(f.enum) == 1:
		return "write " + f.name + ": " + f.enum[0]
	case len(f.enum) > 1:
		return "write one of " + strings.Join(f.enum, ", ")
	case f.example == "":
		return "it is required"
	}
	return "write it like " + f.name + ": " + f.example
}

// reportZero reports a zero value that would be taken for an absent one and become the default.
func (d decoder) reportZero(n *yaml.Node, f *field, at *yamltext.Location) {
	if d.isHidden(at) {
		return
	}
	d.breakAt(n, at, "%s is not a value for this field; "+
		"write another, or remove the key to get the default (%s)", zeroText(n), f.def)
}

// zeroText names a zero value as the file has it.
func zeroText(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "an empty list"
	case n.Value == "":
		return "an empty string"
	}
	return n.Value
}

// isZeroDefault reports whether a default is the value that an absent field has anyway.
func isZeroDefault(def string) bool { return def == "0" || def == "0s" || def == "false" }

func (d decoder) list(n *yaml.Node, v reflect.Value, f *field, at *yamltext.Location) {
	count, element := len(n.Content), v.Type().Elem()
	if n.Kind != yaml.SequenceNode {
		d.reportNoList(n, structs[element], at)
		return
	}
	switch pools := element == reflect.TypeFor[Pool](); {
	case element == reflect.TypeFor[Node]():
		if count > maxNodes {
			d.breakAt(n, at, "has %d machines; one cluster has at most %d", count, maxNodes)
			count = 0
		}
	case pools && count > maxPools:
		d.breakAt(n, at, "has %d pools; one cluster has at most %d. "+
			"Machines that differ in nothing but their names are of one pool", count, maxPools)
		count = 0
	case count > maxItems:
		d.breakAt(n, at, "has %d items; at most %d are read", count, maxItems)
		count = 0
	}
	s := reflect.MakeSlice(v.Type(), count, count)
	for i := range count {
		d.value(n.Content[i], s.Index(i), f, at.Index(i))
	}
	v.Set(s)
}
