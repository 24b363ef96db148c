// This file holds what rules of values are made of: rules of single fields, rules of whole
// documents, and how both say what is wrong. Other files hold the rules.

package kinds

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/json"

	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Rule is what the value of one field must keep.
type Rule struct {
	// Check returns what is wrong with a value, "" if nothing is. The value has the field's type:
	// a string, a bool, an int64, a []any or a map[string]any.
	Check func(v any) string
	// Zero reports whether the rule holds for the zero value too. Otherwise the zero value stands
	// for the default.
	Zero bool
}

// Document is what a whole document must keep, which data holds in JSON. It finds nothing if a
// value of the document has the wrong type, which is a finding already.
type Document func(f *Fault, data []byte)

// Decode decodes a document as the API server does: a key in other capitals is no field. It reports
// whether all values have their types.
func Decode[T any](data []byte) (*T, bool) {
	v := new(T)
	return v, json.UnmarshalCaseSensitivePreserveInts(data, v) == nil
}

// Joined returns one table of several, which share no key.
func Joined[V any](tables ...map[string]V) map[string]V {
	out := map[string]V{}
	for _, t := range tables {
		maps.Copy(out, t)
	}
	return out
}

// OneOf is the rule of a string that must be one of these.
func OneOf(words ...string) Rule {
	return Rule{Check: func(v any) string {
		s, _ := v.(string)
		if slices.Contains(words, s) {
			return ""
		}
		return fmt.Sprintf("%s is not one of %s%s", Show(s), strings.Join(words, ", "),
			wording.Hint(s, words))
	}}
}

// Within is the rule of a number between two others.
func Within(least, most int64) Rule {
	return Rule{Zero: true, Check: func(v any) string {
		if n, ok := v.(int64); ok && (n < least || n > most) {
			return fmt.Sprintf("%d is not within %d and %d", n, least, most)
		}
		return ""
	}}
}

// AtLeast is the rule of a number that is not below another.
func AtLeast(least int64) Rule {
	return Rule{Zero: true, Check: func(v any) string {
		if n, ok := v.(int64); ok && n < least {
			return fmt.Sprintf("%d is below %d", n, least)
		}
		return ""
	}}
}

// Set is Within or AtLeast for a field in which 0 stands for the default.
func Set(r Rule) Rule {
	r.Zero = false
	return r
}

// NotNegative is the rule of a number that is not below 0.
var NotNegative = AtLeast(0)

// Port is the rule of a port; 0 stands for none.
var Port = Set(Within(1, 65535))

// TaintEffect is the rule of what a taint does, and of what a toleration allows.
var TaintEffect = OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")

// Matching is the rule of a string by a function of Kubernetes, which returns what is wrong.
func Matching(wrong func(string) []string) Rule {
	return Rule{Check: func(v any) string {
		s, _ := v.(string)
		if why := wrong(s); len(why) > 0 {
			return Show(s) + ": " + why[0]
		}
		return ""
	}}
}

// Show returns a value as a message quotes it, cut or left out if it has to be.
func Show(s string) string {
	const most = 60
	if credential.Holds([]byte(s)) {
		return "a credential"
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// Fault reports what is wrong in a document. Key and Index return the fault of a value below.
type Fault struct {
	Minor int // of Kubernetes

	at  *yamltext.Location
	add func(at *yamltext.Location, message string)
}

// Key returns the fault of the value under keys, one below the other.
func (f *Fault) Key(keys ...string) *Fault {
	at := f.at
	for _, k := range keys {
		at = at.Key(k)
	}
	return &Fault{f.Minor, at, f.add}
}

// Index returns the fault of the i-th element of a list.
func (f *Fault) Index(i int) *Fault { return &Fault{f.Minor, f.at.Index(i), f.add} }

// Report reports what is wrong with the value.
func (f *Fault) Report(format string, args ...any) { f.add(f.at, fmt.Sprintf(format, args...)) }
