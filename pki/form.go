// This file reads the YAML of a stored bundle that cannot be decoded, and says what is wrong
// with its form. It knows the keys of a bundle, and nothing of what the values mean.

package pki

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Authorities are the names in a stored bundle of the CAs, in the order of the constants of Signer.
var Authorities = []string{"ca", "etcdCA", "frontProxyCA"}

// wants says what the lists and maps of a bundle have to be. Those that are not here are the CAs.
var wants = map[string]string{
	"external":    "the keys that kiln certs add writes",
	"generations": "a line for each secret, such as admin: 2",
	"imported":    "the keys that kiln secrets import writes",
	"recipients":  "a list of age recipients; kiln secrets encrypt writes it",
	"renewals":    `a line for each machine, such as cp-1: "2026-01-31T12:00:00Z"`,
	"rotations":   "the keys that kiln secrets rotate writes",
	"tokens":      `a line for each pool, such as blue: {renewed: "2026-01-31T12:00:00Z"}`,
}

// syntaxLine finds the line in the parser's message.
var syntaxLine = regexp.MustCompile(`line (\d+)`)

// problems returns what is wrong with the form of a bundle that a person has changed, by line and
// key. bundle is the type of a stored bundle. No value is quoted, and no key that a bundle does not
// have: a key that is out of place may be a secret. The parser's message is not shown either.
func problems(data []byte, bundle reflect.Type) error {
	const broken = "not a bundle: its YAML does not have the form that kiln writes; " +
		"name the bundle, or restore it from a copy"
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		if f, ok := yamltext.FindFault(data, slices.Sorted(maps.Keys(fields(bundle)))); ok {
			return fmt.Errorf("line %d, column %d: %s", f.Line, f.Column, f.Message)
		}
		if at := syntaxLine.FindStringSubmatch(err.Error()); at != nil {
			return fmt.Errorf("line %s, or the one above it: not YAML; "+
				"look at its blanks, colons and quotes", at[1])
		}
		return errors.New(broken)
	}
	f := &form{}
	if len(document.Content) == 1 && document.Content[0].Kind == yaml.MappingNode {
		f.value(document.Content[0], bundle, "")
	}
	if len(f.errs) == 0 {
		return errors.New(broken)
	}
	return errors.Join(f.errs...)
}

// fields returns the types of a stored value's keys.
func fields(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			types[name] = field.Type
		}
	}
	return types
}

// form collects the mistakes in the form of a bundle.
type form struct{ errs []error }

func (f *form) fail(n *yaml.Node, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...))
}

// value checks a value and what it holds. name leads to it, and ends with ": " if it is not empty.
func (f *form) value(n *yaml.Node, t reflect.Type, name string) {
	tag := n.ShortTag()
	top, _, _ := strings.Cut(name, ":")
	want := cmp.Or(wants[top], "the keys certificate and key")
	kind := yaml.ScalarNode
	switch t.Kind() {
	case reflect.Pointer:
		f.value(n, t.Elem(), name)
		return
	case reflect.Struct, reflect.Map:
		kind = yaml.MappingNode
	case reflect.Slice:
		kind = yaml.SequenceNode
	case reflect.Int:
		want = "a whole number without quotes, such as 2"
	default:
		want = "one value, not a list or a map"
	}
	switch {
	case tag == "!!null":
	case n.Kind != kind, t.Kind() == reflect.Int && tag != "!!int":
		f.fail(n, "%swant %s", name, want)
	case t.Kind() == reflect.Struct:
		types := fields(t)
		f.keys(n, slices.Sorted(maps.Keys(types)), name,
			func(key string) reflect.Type { return types[key] })
	case t.Kind() == reflect.Map:
		var known []string // the keys are names of secrets, machines or pools
		if t.Key() == reflect.TypeFor[root.Root]() {
			known = root.Names()
		}
		f.keys(n, known, name, func(string) reflect.Type { return t.Elem() })
	case t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			f.value(item, t.Elem(), name)
		}
	}
}

// keys checks the keys of a map, and the value of each allowed one. If known is nil, every key is
// allowed.
func (f *form) keys(
	n *yaml.Node, known []string, name string, typeOf func(key string) reflect.Type,
) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch first := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode || known != nil && !slices.Contains(known, key.Value):
			f.fail(key, "%sa bundle has no such key here%s", name, wording.Hint(key.Value, known))
		case first > 0:
			f.fail(key, "%s%s stands there already, in line %d; remove one of them", name,
				key.Value, first)
		default:
			lines[key.Value] = key.Line
			f.value(n.Content[i+1], typeOf(key.Value), name+key.Value+": ")
		}
	}
}
