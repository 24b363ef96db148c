package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"kiln/render/credential"
	"kiln/render/suggest"
)

// Ways in which a plain scalar is a number without doubt.
var (
	decimalInt   = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	decimalFloat = regexp.MustCompile(`^-?(0|[1-9][0-9]*)\.[0-9]+([eE][+-]?[0-9]+)?$`)
)

// booleanWord matches what some YAML parsers read as booleans and others as strings
// (https://yaml.org/type/bool.html).
var booleanWord = regexp.MustCompile(`^(y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// decoder fills the types from a document. It walks the document itself, so every complaint has a line, and accepts
// only what every YAML parser reads in the same way.
type decoder struct {
	*reporter
	lines [][]byte // of the document, if it may have tags that yaml.v3 drops; nil otherwise
}

// value decodes n into v, which f describes. It reports what does not fit and leaves v as far as it came.
func (d decoder) value(n *yaml.Node, v reflect.Value, f *field, at *where) {
	if !d.plain(n, at) {
		return
	}
	switch t := v.Type(); {
	case t == durationType:
		if text, ok := d.text(n, at); ok {
			d.duration(n, text, v, at)
		}
	case t == freeMapType:
		if n.Kind != yaml.MappingNode {
			d.wrongKind(n, kindMap, at)
		} else {
			v.Set(reflect.ValueOf(d.free(n, at)))
		}
	case t == stringsType:
		d.texts(n, v, at)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		d.value(n, p.Elem(), f, at)
		v.Set(p)
	case t.Kind() == reflect.Struct:
		d.mapping(n, v, at)
	case t.Kind() == reflect.Slice:
		d.list(n, v, f, at)
	case t.Kind() == reflect.String:
		if text, ok := d.text(n, at); ok {
			v.SetString(text)
			d.enum(n, text, f, at)
		}
	case t.Kind() == reflect.Bool:
		d.bool(n, v, at)
	case t.Kind() == reflect.Int, t.Kind() == reflect.Uint32:
		d.int(n, v, at)
	}
}

// plain reports what no value may have: an alias, an anchor, a tag, or too many levels above it. It returns whether
// the value can be read all the same.
func (d decoder) plain(n *yaml.Node, at *where) bool {
	if n.Anchor != "" {
		d.softAt(n, at, "anchors (&%s) are not allowed; remove it", n.Anchor)
	}
	switch {
	case n.Kind == yaml.AliasNode:
		d.breakAt(n, at, "aliases (*%s) are not allowed; write the value out", n.Value)
		return false
	case n.Style&yaml.TaggedStyle != 0:
		d.breakAt(n, at, "tags (%s) are not allowed; remove it, and quote the value if it is a string", n.Tag)
		return false
	case n.Style == 0 && d.beginsWith(n, '!'):
		d.breakAt(n, at, "tags (!) are not allowed; remove it, and quote the value if it is a string")
		return false
	case at.depth() > maxDepth:
		d.breakAt(n, at, "is nested too deeply; at most %d levels are read", maxDepth)
		return false
	}
	return true
}

// beginsWith says whether the text of n begins with c. yaml.v3 drops the tag "!", by which other parsers read any scalar
// as a text.
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

// wrongKind reports a value of another kind than want, such as a list where a map belongs.
func (d decoder) wrongKind(n *yaml.Node, want string, at *where) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!null" {
		d.breakAt(n, at, "has no value; write a %s or remove the key", want)
		return
	}
	d.breakAt(n, at, "want a %s, got %s%s", want, aKind(n), remedies[want])
}

// pairs calls f for every key of a mapping that is a plain word and stands there for the first time.
func (d decoder) pairs(n *yaml.Node, at *where, f func(key, value *yaml.Node, at *where)) {
	if count := len(n.Content) / 2; count > maxKeys {
		d.breakAt(n, at, "has %d keys; at most %d are read", count, maxKeys)
		return
	}
	const few = 32 // up to here looking back is cheaper than a table
	var seen map[string]*yaml.Node
	if len(n.Content) > 2*few {
		seen = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		here := &where{up: at, name: key.Value, line: key.Line, column: key.Column}
		var before *yaml.Node
		if seen != nil {
			before = seen[key.Value]
			seen[key.Value] = key
		} else {
			for j := 0; j < i && before == nil; j += 2 {
				if n.Content[j].Kind == key.Kind && n.Content[j].Value == key.Value {
					before = n.Content[j]
				}
			}
		}
		switch {
		case key.Kind == yaml.AliasNode:
			d.badKey(key, at, "aliases (*%s) are not allowed; write the key out", key.Value)
		case key.Kind != yaml.ScalarNode:
			d.badKey(key, at, "a key is a string, got %s; if this was meant as a value, put it into quotes", aKind(key))
		case key.ShortTag() == "!!merge":
			d.breakAt(key, here, "merge keys are not allowed; write the fields out")
		case key.Style&yaml.TaggedStyle != 0:
			d.breakAt(key, here, "tags (%s) are not allowed; remove it", key.Tag)
		case key.Value == "":
			d.badKey(key, at, "a key is empty; write its name")
		case before != nil && before.Line == key.Line:
			d.breakAt(key, here, "defined twice (in this line); remove one")
		case before != nil:
			d.breakAt(key, here, "defined twice (lines %d and %d); remove one", before.Line, key.Line)
		default:
			if key.Anchor != "" {
				d.softAt(key, here, "anchors (&%s) are not allowed; remove it", key.Anchor)
			}
			f(key, value, here)
		}
	}
}

// badKey reports a key that names no field. The other keys of its mapping are read all the same.
func (d decoder) badKey(key *yaml.Node, mapping *where, format string, args ...any) {
	d.add(key.Line, key.Column, mapping.String(), fmt.Sprintf(format, args...))
}

// mapping decodes a mapping with known keys.
func (d decoder) mapping(n *yaml.Node, v reflect.Value, at *where) {
	if n.Kind != yaml.MappingNode {
		d.wrongKind(n, kindMap, at)
		return
	}
	fields := structs[v.Type()]
	var set fieldSet
	var present uint64
	d.pairs(n, at, func(key, value *yaml.Node, here *where) {
		f := fields.byName[key.Value]
		if f == nil {
			d.unknown(key, fields, v.Type(), here)
			return
		}
		here.hidden = f.name == "spec" && at.up == nil
		present |= 1 << f.number
		if f.machine >= 0 {
			set |= 1 << f.machine
		}
		target := v.FieldByIndex(f.index)
		d.value(value, target, f, here)
		if f.def != "" && target.IsZero() && !isZeroDefault(f.def) {
			d.zero(value, f, here)
		}
	})
	if m := machineOf(v); m != nil {
		m.set = set
	}
	for i := range fields.list {
		if f := &fields.list[i]; f.required && present&(1<<i) == 0 {
			d.missing(n, f, at)
		}
	}
}

// machineOf returns the Machine that v is or holds inline, nil if it is none.
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

// missing reports a required key that is not there.
func (d decoder) missing(n *yaml.Node, f *field, at *where) {
	path := at.key(f.name)
	path.hidden = false
	if d.isBroken(path) {
		return
	}
	what := "write it like " + f.name + ": " + f.example
	switch {
	case len(f.enum) == 1:
		what = "write " + f.name + ": " + f.enum[0]
	case len(f.enum) > 1:
		what = "write one of " + strings.Join(f.enum, ", ")
	case f.example == "":
		what = "it is required"
	}
	d.breakAt(n, &where{up: at, name: f.name, line: at.line, column: at.column}, "missing; %s", what)
}

// zero reports a value that would be taken for an absent one and silently become the default.
func (d decoder) zero(n *yaml.Node, f *field, at *where) {
	if d.isBroken(at) {
		return
	}
	d.breakAt(n, at, "%s is not a value for this field; write another, or remove the key to get the default (%s)", zeroText(n), f.def)
}

// zeroText names an empty value as the file has it.
func zeroText(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "an empty list"
	case n.Value == "":
		return "an empty string"
	}
	return n.Value
}

// isZeroDefault says whether a default is what an absent field holds anyway.
func isZeroDefault(def string) bool { return def == "0" || def == "0s" || def == "false" }

// list decodes a list.
func (d decoder) list(n *yaml.Node, v reflect.Value, f *field, at *where) {
	if n.Kind != yaml.SequenceNode {
		d.wrongKind(n, kindList, at)
		return
	}
	count := len(n.Content)
	if v.Type().Elem() == reflect.TypeFor[Node]() || v.Type().Elem() == reflect.TypeFor[Pool]() {
		if count > maxNodes {
			d.breakAt(n, at, "has %d machines; one cluster has at most %d", count, maxNodes)
			count = 0
		}
	}
	s := reflect.MakeSlice(v.Type(), count, count)
	for i := range count {
		d.value(n.Content[i], s.Index(i), f, at.at(i))
	}
	v.Set(s)
}

// texts decodes a mapping whose keys are free and whose values are texts.
func (d decoder) texts(n *yaml.Node, v reflect.Value, at *where) {
	if n.Kind != yaml.MappingNode {
		d.wrongKind(n, kindMap, at)
		return
	}
	m := make(map[string]string, len(n.Content)/2)
	d.pairs(n, at, func(key, value *yaml.Node, here *where) {
		if !d.freeKey(key, here) || !d.plain(value, here) {
			return
		}
		if text, ok := d.text(value, here); ok {
			m[key.Value] = text
		}
	})
	v.Set(reflect.ValueOf(m))
}

// freeKey reports a key that some parsers read as something else than a text.
func (d decoder) freeKey(key *yaml.Node, at *where) bool {
	if key.Style != 0 || key.ShortTag() == "!!str" && !booleanWord.MatchString(key.Value) {
		return d.characters(key, at)
	}
	d.breakAt(key, at, "not every program reads this key as a string; write it in quotes: %q", key.Value)
	return false
}

// text returns the text that n is, and whether it is one. Numbers are reported and returned all the same: the check
// of the field may know better what is wrong.
func (d decoder) text(n *yaml.Node, at *where) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		d.wrongKind(n, kindString, at)
		return "", false
	}
	if n.Style == 0 {
		switch tag := n.ShortTag(); {
		case tag == "!!null":
			d.wrongKind(n, kindString, at)
			return "", false
		case tag == "!!bool" || booleanWord.MatchString(n.Value):
			d.breakAt(n, at, "%s without quotes is read as a boolean; write %q", n.Value, n.Value)
			return "", false
		case tag == "!!int" || tag == "!!float":
			d.softAt(n, at, "%s without quotes is read as a number; write %q", n.Value, n.Value)
		}
	}
	return n.Value, d.characters(n, at)
}

// characters reports credentials and control characters, which escapes can bring into a text.
func (d decoder) characters(n *yaml.Node, at *where) bool {
	const problem = "holds %s; secrets stand in the bundle, or in a file named by contentFrom with secret: true"
	switch found, ok := credential.Find([]byte(n.Value)); {
	case ok && found.What == credential.PasswordInURL:
		d.softAt(n, at, problem, found) // a field that is a URL knows better what to do
	case ok:
		d.breakAt(n, at, problem, found)
		return false
	}
	if i := strings.IndexFunc(n.Value, isControl); i >= 0 {
		d.breakAt(n, at, "holds the control character U+%04X; remove it, and put binary content into a file named by contentFrom", []rune(n.Value[i:])[0])
		return false
	}
	return true
}

// enum reports a value that is none of the allowed ones.
func (d decoder) enum(n *yaml.Node, text string, f *field, at *where) {
	if len(f.enum) == 0 || slices.Contains(f.enum, text) {
		return
	}
	if f.name == "apiVersion" && futureVersion.MatchString(text) {
		d.breakAt(n, at, "%s is made for a newer release of kiln; this one reads %s", quote(text), APIVersion)
		return
	}
	if len(f.enum) == 1 {
		d.breakAt(n, at, "%s is not supported; write %s", quote(text), f.enum[0])
		return
	}
	d.breakAt(n, at, "%s is not allowed; write one of %s%s",
		quote(text), strings.Join(f.enum, ", "), suggest.Hint(text, f.enum))
}

var futureVersion = regexp.MustCompile(`^kiln\.dev/v[0-9]+((alpha|beta)[0-9]+)?$`)

// bool decodes true or false.
func (d decoder) bool(n *yaml.Node, v reflect.Value, at *where) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrongKind(n, kindBoolean, at)
		return
	}
	switch {
	case n.Style == 0 && n.Value == "true":
		v.SetBool(true)
	case n.Style == 0 && n.Value == "false":
	default:
		d.breakAt(n, at, "%s is not a boolean; write true or false, without quotes", shown(n))
	}
}

// int decodes a whole number in decimal digits.
func (d decoder) int(n *yaml.Node, v reflect.Value, at *where) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrongKind(n, kindNumber, at)
		return
	}
	if n.Style != 0 || !decimalInt.MatchString(n.Value) {
		d.breakAt(n, at, "%s is not a whole number; write decimal digits without quotes, leading zeros, _ or 0x", shown(n))
		return
	}
	if v.Kind() == reflect.Uint32 {
		i, err := strconv.ParseUint(n.Value, 10, 32)
		if err != nil {
			d.breakAt(n, at, "%s is out of range; 0 to 4294967295 fits", n.Value)
			return
		}
		v.SetUint(i)
		return
	}
	i, err := strconv.ParseInt(n.Value, 10, 32)
	if err != nil {
		d.breakAt(n, at, "%s is out of range; at most 2147483647 fits", n.Value)
		return
	}
	v.SetInt(i)
}

// shown returns a scalar as the file has it: with quotes if it has some, for they may be what is wrong.
func shown(n *yaml.Node) string {
	if text := quote(n.Value); n.Style != 0 || text != strconv.Quote(n.Value) {
		return text
	}
	return n.Value
}

// duration decodes a Duration.
func (d decoder) duration(n *yaml.Node, text string, v reflect.Value, at *where) {
	span, err := time.ParseDuration(text)
	if err != nil {
		d.breakAt(n, at, "%s is not a duration; write hours, minutes and seconds, such as 8760h or 30m", quote(text))
		return
	}
	v.SetInt(int64(span))
}

// free decodes a value of a field that belongs to another program: any YAML, but nothing that two parsers read in two
// ways. Mappings become map[string]any, lists []any, scalars string, int64, float64, bool or nil.
func (d decoder) free(n *yaml.Node, at *where) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		d.pairs(n, at, func(key, value *yaml.Node, here *where) {
			if d.freeKey(key, here) && d.plain(value, here) {
				m[key.Value] = d.free(value, here)
			}
		})
		return m
	case yaml.SequenceNode:
		s := make([]any, len(n.Content))
		for i, c := range n.Content {
			if here := at.at(i); d.plain(c, here) {
				s[i] = d.free(c, here)
			}
		}
		return s
	}
	if n.Style != 0 {
		d.characters(n, at)
		return n.Value
	}
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		return nil
	case n.Value == "true" || n.Value == "false":
		return n.Value == "true"
	case tag == "!!bool" || booleanWord.MatchString(n.Value):
		d.breakAt(n, at, "%s is read as a boolean by some programs and as a string by others; write true, false, or %q", n.Value, n.Value)
	case tag == "!!int" && decimalInt.MatchString(n.Value):
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i
		}
		d.breakAt(n, at, "%s is out of range; write it in quotes if it is a string", n.Value)
	case tag == "!!float" && decimalFloat.MatchString(n.Value):
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return x
		}
		d.breakAt(n, at, "%s is out of range; write it in quotes if it is a string", n.Value)
	case tag == "!!int" || tag == "!!float":
		d.breakAt(n, at, "%s is not a plain decimal number; write it without leading zeros, _ or 0x, or in quotes if it is a string", n.Value)
	default:
		d.characters(n, at)
	}
	return n.Value
}
