package field

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"kiln/render/layout"
	"kiln/render/textdiff"
)

// Content compares two contents by their form, or line by line.
func (f *List) Content(form layout.Form, old, new []byte) {
	if !utf8.Valid(old) || !utf8.Valid(new) {
		f.Value("content", strconv.Itoa(len(old))+" bytes, not text",
			strconv.Itoa(len(new))+" bytes, not text")
		return
	}
	before := len(*f)
	switch form {
	case layout.YAML, layout.Object:
		var a, b any
		if countDocuments(old) == 1 && countDocuments(new) == 1 && yaml.Unmarshal(old, &a) == nil &&
			yaml.Unmarshal(new, &b) == nil && structured(a) && structured(b) {
			f.values("", a, b)
		}
	case layout.Unit:
		f.settings(directives(old), directives(new))
	case layout.Settings:
		a, readable := assignments(old)
		if b, ok := assignments(new); ok && readable {
			f.settings(a, b)
		}
	case layout.Checks:
		f.checks(old, new)
	case layout.Program:
		f.Value("program", strconv.Itoa(len(textdiff.Lines(old)))+" lines",
			strconv.Itoa(len(textdiff.Lines(new)))+" others")
	}
	if len(*f) == before {
		f.Set("", textdiff.Lines(old), textdiff.Lines(new))
	}
	if len(*f) == before {
		// They differ in an order, or in something that the format ignores.
		f.Add("", pointer("(the same in another order or form)"), pointer(""))
	}
}

func pointer(s string) *string { return &s }

// countDocuments returns how many documents a YAML stream has.
func countDocuments(text []byte) int {
	return 1 + bytes.Count(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---"))
}

func structured(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
