package change

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
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
		if countDocuments(old) == 1 && countDocuments(new) == 1 && decode(old, &a) &&
			decode(new, &b) && isStructured(a) && isStructured(b) {
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
	case layout.Programs:
		f.settings(programs(old), programs(new))
	case layout.Program:
		f.Value("program", strconv.Itoa(len(wording.SplitLines(old)))+" lines",
			strconv.Itoa(len(wording.SplitLines(new)))+" others")
	}
	if len(*f) == before {
		f.Set("", wording.SplitLines(old), wording.SplitLines(new))
	}
	if len(*f) == before {
		// They differ in an order, or in something that the format ignores.
		f.Add("", pointer("(the same in another order or form)"), pointer(""))
	}
	f.shorten(before)
}

// maxShown is how many bytes the fields of one content may have. Each field repeats its path, so
// that those of a file of 1 MiB could have 50 MiB. A new release of a large definition of a custom
// resource changes some 100 KiB.
const maxShown = 1 << 20

// shorten replaces the fields after the first maxShown bytes, counted from the i-th field, by their
// number. It cuts the field in which those bytes end.
func (f *List) shorten(i int) {
	left := maxShown
	for ; i < len(*f) && left > 0; i++ {
		one := &(*f)[i]
		one.Name = cut(one.Name, &left)
		for _, text := range []**string{&one.Old, &one.New} {
			if *text != nil {
				*text = pointer(cut(**text, &left))
			}
		}
	}
	if more := len(*f) - i; more > 0 {
		*f = (*f)[:i]
		f.Add("", nil, pointer(fmt.Sprintf("(%d more fields differ; compare the files)", more)))
	}
}

// cut returns a text, its beginning if it has more bytes than are left. It takes its bytes from
// those.
func cut(text string, left *int) string {
	n := min(len(text), *left)
	if *left -= n; n == len(text) {
		return text
	}
	return fmt.Sprintf("%s… (%d more bytes; compare the files)",
		strings.ToValidUTF8(text[:n], ""), len(text)-n)
}

// decode decodes a document, and reports false for one that is not YAML, or too much of it: such
// contents are compared line by line.
func decode(text []byte, into *any) bool {
	return yamltext.Compared.Check(text) == nil && yaml.Unmarshal(text, into) == nil
}

func pointer(s string) *string { return &s }

// countDocuments returns how many documents a YAML stream has.
func countDocuments(text []byte) int {
	return len(yamltext.Split(text))
}

func isStructured(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
