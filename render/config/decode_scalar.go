package config

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Notations of a plain scalar that every YAML parser reads as a number.
var (
	decimalInt   = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	decimalFloat = regexp.MustCompile(`^-?(0|[1-9][0-9]*)\.[0-9]+([eE][+-]?[0-9]+)?$`)
)

// booleanWord matches what some YAML parsers read as booleans and others as strings
// (https://yaml.org/type/bool.html).
var booleanWord = regexp.MustCompile(`^(y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// isBoolean reports whether a YAML parser may read n as a boolean.
func isBoolean(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 &&
		(n.ShortTag() == "!!bool" || booleanWord.MatchString(n.Value))
}

// string returns the string that n is. ok reports whether n is one. string reports a number, and ok
// is true: the check of the field may know better what is wrong.
func (d decoder) string(n *yaml.Node, at *yamltext.Location) (s string, ok bool) {
	if n.Kind != yaml.ScalarNode {
		d.reportWrongKind(n, kindString, at)
		return "", false
	}
	if n.Style == 0 {
		switch tag := n.ShortTag(); {
		case tag == "!!null":
			d.reportWrongKind(n, kindString, at)
			return "", false
		case isBoolean(n):
			d.breakAt(n, at, "%s without quotes is read as a boolean; write %q", n.Value, n.Value)
			return "", false
		case tag == "!!int" || tag == "!!float":
			d.softAt(n, at, "%s without quotes is read as a number; write %q", n.Value, n.Value)
		}
	}
	return n.Value, d.characters(n, at)
}

// characters reports credentials and control characters, which escapes can bring into a string. ok
// reports whether the string can still be used.
func (d decoder) characters(n *yaml.Node, at *yamltext.Location) (ok bool) {
	const problem = "holds %s; secrets belong in the bundle, " +
		"or in a file named by contentFrom with secret: true"
	switch found, has := credential.Find([]byte(n.Value)); {
	case has && found.What == credential.PasswordInURL:
		d.softAt(n, at, problem, found) // the check of a field that is a URL knows a better remedy
	case has && at.Parent() != nil && strings.HasSuffix(at.Parent().String(), "AuthorizedKeys"):
		d.breakAt(n, at, "holds %s; write the public key, the one line of the .pub file beside it",
			found)
		return false
	case has:
		d.breakAt(n, at, problem, found)
		return false
	}
	if i := strings.IndexFunc(n.Value, isControl); i >= 0 {
		d.breakAt(n, at, "holds the control character U+%04X; "+
			"remove it, and put binary content into a file named by contentFrom",
			[]rune(n.Value[i:])[0])
		return false
	}
	return true
}

var futureVersion = regexp.MustCompile(`^kiln\.dev/v[0-9]+((alpha|beta)[0-9]+)?$`)

func (d decoder) checkAllowed(n *yaml.Node, s string, f *field, at *yamltext.Location) {
	if len(f.enum) == 0 || slices.Contains(f.enum, s) {
		return
	}
	if f.name == "apiVersion" && futureVersion.MatchString(s) {
		d.breakAt(n, at, "%s is made for a newer release of kiln; this one reads %s",
			quote(s), APIVersion)
		return
	}
	if len(f.enum) == 1 {
		d.breakAt(n, at, "%s is not supported; write %s", quote(s), f.enum[0])
		return
	}
	list := strings.Join(f.enum, ", ")
	switch alias, ok := target.FindAlias(f.name, s); {
	case !ok:
		d.breakAt(n, at, "%s is not allowed; write one of %s%s",
			quote(s), list, wording.Hint(s, f.enum))
	case alias.Name == "":
		d.breakAt(n, at, "%s is not allowed: %s; write one of %s", quote(s), alias.Advice, list)
	case alias.Advice == "":
		d.breakAt(n, at, "%s is called %s here; write %[2]s", quote(s), alias.Name)
	default:
		d.breakAt(n, at, "%s is not among the values; write %s, %s",
			quote(s), alias.Name, alias.Advice)
	}
}

func (d decoder) bool(n *yaml.Node, v reflect.Value, at *yamltext.Location) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.reportWrongKind(n, kindBoolean, at)
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

func (d decoder) int(n *yaml.Node, v reflect.Value, at *yamltext.Location) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.reportWrongKind(n, kindNumber, at)
		return
	}
	if n.Style != 0 || !decimalInt.MatchString(n.Value) {
		d.breakAt(n, at, "%s is not a whole number; "+
			"write decimal digits without quotes, leading zeros, _ or 0x", shown(n))
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

// shown returns a scalar as the file has it, with its quotes: they may be what is wrong.
func shown(n *yaml.Node) string {
	if quoted := quote(n.Value); n.Style != 0 || quoted != strconv.Quote(n.Value) {
		return quoted
	}
	return n.Value
}

func (d decoder) duration(n *yaml.Node, s string, v reflect.Value, at *yamltext.Location) {
	span, err := time.ParseDuration(s)
	if err != nil {
		d.breakAt(n, at, "%s is not a duration; %s", quote(s), durationAdvice(s))
		return
	}
	v.SetInt(int64(span))
}

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

// freeKey reports a key that some parsers do not read as a string.
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

// freeScalar decodes a scalar of a free value. With a problem it returns the string in the file.
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
