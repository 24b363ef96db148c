package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kiln/render/credential"
	"kiln/render/suggest"
)

// rule is what the value of one field must keep.
type rule struct {
	// check returns what is wrong with a value, "" if nothing is. The value has the field's type:
	// a string, a bool, an int64, a []any or a map[string]any.
	check func(v any) string
	// zero reports whether the rule holds for the zero value too. Otherwise the zero value stands
	// for the default.
	zero bool
}

// document is what a whole document must keep, which data holds in JSON. It finds nothing if a
// value of the document has the wrong type, which is a finding already.
type document func(f *fault, data []byte)

// decode decodes a document, and reports whether all its values have their types.
func decode[T any](data []byte) (*T, bool) {
	v := new(T)
	return v, json.Unmarshal(data, v) == nil
}

// joined returns one table of several, which share no key.
func joined[V any](tables ...map[string]V) map[string]V {
	out := map[string]V{}
	for _, t := range tables {
		maps.Copy(out, t)
	}
	return out
}

// oneOf is the rule of a string that must be one of these.
func oneOf(words ...string) rule {
	return rule{check: func(v any) string {
		s, _ := v.(string)
		if slices.Contains(words, s) {
			return ""
		}
		return fmt.Sprintf("%s is not one of %s%s", show(s), strings.Join(words, ", "),
			suggest.Hint(s, words))
	}}
}

// within is the rule of a number between two others.
func within(least, most int64) rule {
	return rule{zero: true, check: func(v any) string {
		if n, ok := v.(int64); ok && (n < least || n > most) {
			return fmt.Sprintf("%d is not within %d and %d", n, least, most)
		}
		return ""
	}}
}

// atLeast is the rule of a number that is not below another.
func atLeast(least int64) rule {
	return rule{zero: true, check: func(v any) string {
		if n, ok := v.(int64); ok && n < least {
			return fmt.Sprintf("%d is below %d", n, least)
		}
		return ""
	}}
}

// set is within or atLeast for a field in which 0 stands for the default.
func set(r rule) rule {
	r.zero = false
	return r
}

// matching is the rule of a string by a function of Kubernetes, which returns what is wrong.
func matching(wrong func(string) []string) rule {
	return rule{check: func(v any) string {
		s, _ := v.(string)
		if why := wrong(s); len(why) > 0 {
			return show(s) + ": " + why[0]
		}
		return ""
	}}
}

// show returns a value as a message quotes it: cut if it is long, and left out if it is a
// credential.
func show(s string) string {
	const most = 60
	if credential.Holds([]byte(s)) {
		return "a credential"
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
