package config

import (
	"cmp"
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"sync"

	"kiln.dev/kiln/render/text/wording"
)

// typesSource holds the files with the types of cluster.yaml. Their comments are its reference
// documentation, so the program carries them.
//
//go:embed types*.go
var typesSource embed.FS

// FieldDoc is the documentation of one field of cluster.yaml.
type FieldDoc struct {
	// Path is the path as messages have it, without the leading "spec." and without list indices.
	Path string `json:"path"`
	// Type is string, number, boolean, duration, map, map of strings, or a list of one of them.
	Type string `json:"type"`
	// Required reports whether an absent field is a mistake.
	Required bool `json:"required"`
	// Default is the value of an absent field, as YAML.
	Default string `json:"default,omitempty"`
	// Enum lists the allowed values, if there are few.
	Enum []string `json:"enum,omitempty"`
	// Example is a value, as YAML.
	Example string `json:"example,omitempty"`
	// Text says what the field means.
	Text string `json:"text"`
	// Fields lists the keys of a map, or of the maps in a list.
	Fields []string `json:"fields,omitempty"`
}

// Field returns the documentation of the field at a path as messages have it, with or without
// "spec." and indices; "" is the whole file.
func Field(path string) (doc FieldDoc, ok bool) {
	path = withoutIndices(path)
	t := reflect.TypeFor[Cluster]()
	if path == "" {
		text := docs()[t.Name()]
		return FieldDoc{Type: kindMap, Required: true, Text: text, Fields: keysOf(t)}, true
	}
	if rest, ok := strings.CutPrefix(path, "spec."); ok {
		path, t = rest, reflect.TypeFor[Spec]()
	}
	first, _, _ := strings.Cut(path, ".")
	if structs[t].byName[first] == nil {
		t = reflect.TypeFor[Spec]()
	}
	for key := range strings.SplitSeq(path, ".") {
		fields := structs[elem(t)]
		if fields == nil || fields.byName[key] == nil {
			return FieldDoc{}, false
		}
		f := fields.byName[key]
		sf := elem(t).FieldByIndex(f.index)
		doc = FieldDoc{
			Path: path, Type: typeName(sf.Type), Required: f.required,
			Default: defaultText(f, sf.Type), Enum: f.enum, Example: f.example,
			Text: fieldText(elem(t), f), Fields: keysOf(sf.Type),
		}
		t = sf.Type
	}
	return doc, true
}

// String returns the documentation as kiln explain prints it: the path and the kind of its value on
// one line, then the text, then the fields below it with a summary of each.
func (d FieldDoc) String() string {
	var b strings.Builder
	facts := []string{d.Type}
	if d.Required {
		facts = append(facts, "required")
	}
	if d.Default != "" {
		facts = append(facts, "default "+d.Default)
	}
	b.WriteString(cmp.Or(d.Path, "cluster.yaml") + " (" + strings.Join(facts, ", ") + ")\n")
	if len(d.Enum) > 0 {
		b.WriteString(wrap("one of "+strings.Join(d.Enum, ", "), textWidth) + "\n")
	}
	if d.Text != "" {
		b.WriteString("\n" + wrap(d.Text, textWidth) + "\n")
	}
	if d.Example != "" {
		_, key, _ := cutLast(d.Path)
		b.WriteString("\nExample:\n  " + key + ": " + d.Example + "\n")
	}
	if len(d.Fields) > 0 {
		b.WriteString("\nFields:\n")
		width := 0
		for _, key := range d.Fields {
			width = max(width, len(key))
		}
		for _, key := range d.Fields {
			sub, _ := Field(strings.TrimPrefix(d.Path+"."+key, "."))
			fmt.Fprintf(&b, "  %-*s  %s\n", width, key, summary(key, sub.Text))
		}
	}
	return b.String()
}

// summary returns the first sentence of a field's text without the key in front: "the mode of
// kube-proxy" for "proxy is the mode of kube-proxy. ...".
func summary(key, text string) string {
	sentence, _, _ := strings.Cut(text, ". ")
	sentence = strings.TrimPrefix(sentence, key+" ")
	for _, verb := range []string{"is ", "are ", "holds "} {
		sentence = strings.TrimPrefix(sentence, verb)
	}
	return strings.TrimSuffix(sentence, ".")
}

const textWidth = 100

// wrap breaks a text into lines of at most width bytes, each with two spaces in front.
func wrap(text string, width int) string {
	var lines []string
	line := " "
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != " " {
			lines, line = append(lines, line), " "
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}

// withoutIndices returns a path without its list indices: nodes.name for nodes[0].name.
func withoutIndices(path string) string {
	for {
		before, rest, ok := strings.Cut(path, "[")
		_, after, closed := strings.Cut(rest, "]")
		if !ok || !closed {
			return path
		}
		path = before + after
	}
}

func keysOf(t reflect.Type) []string {
	fields := structs[elem(t)]
	if fields == nil {
		return nil
	}
	keys := make([]string, len(fields.list))
	for i := range fields.list {
		keys[i] = fields.list[i].name
	}
	return keys
}

func typeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return kindDuration
	case t == stringsType:
		return "map of strings"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t.Kind() == reflect.Slice:
		return kindList + " of " + typeName(t.Elem()) + "s"
	case t.Kind() == reflect.String:
		return kindString
	case t.Kind() == reflect.Bool:
		return kindBoolean
	case t.Kind() == reflect.Int, t.Kind() == reflect.Uint32:
		return kindNumber
	}
	return kindMap
}

func defaultText(f *field, t reflect.Type) string {
	if f.def != "" && t.Kind() == reflect.Slice {
		return "[" + strings.ReplaceAll(f.def, ",", ", ") + "]"
	}
	return f.def
}

// fieldText returns the comment of a field of t, or of the field's type if the field has none.
func fieldText(t reflect.Type, f *field) string {
	sf := t.FieldByIndex(f.index)
	owner := t
	for _, i := range f.index[:len(f.index)-1] {
		owner = owner.Field(i).Type
	}
	if text := docs()[owner.Name()+"."+sf.Name]; text != "" {
		// The comment begins with the Go name, and people know the key.
		if rest, ok := strings.CutPrefix(text, sf.Name+" "); ok {
			return f.name + " " + rest
		}
		return text
	}
	return docs()[elem(sf.Type).Name()]
}

// docs returns the comments of the types, by "Type" and "Type.Field".
var docs = sync.OnceValue(func() map[string]string {
	files, err := typesSource.ReadDir(".")
	if err != nil {
		panic("config: types: " + err.Error()) // they are in the program
	}
	texts := map[string]string{}
	for _, f := range files {
		source, err := typesSource.ReadFile(f.Name())
		if err != nil {
			panic("config: types: " + err.Error())
		}
		addComments(texts, f.Name(), source)
	}
	return texts
})

func addComments(texts map[string]string, name string, source []byte) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		panic("config: types: " + err.Error()) // it has been compiled
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			ts := spec.(*ast.TypeSpec)
			texts[ts.Name.Name] = oneLine(general.Doc)
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range st.Fields.List {
				for _, name := range f.Names {
					texts[ts.Name.Name+"."+name.Name] = oneLine(f.Doc)
				}
			}
		}
	}
}

func oneLine(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}

const maxPlaces = 3

// NoField returns the error for a path that Field does not know. The error names the field that was
// probably meant: one with nearly that name, or one of that name in another place.
func NoField(path string) *wording.Unknown {
	u := &wording.Unknown{Message: fmt.Sprintf("%q is no field of cluster.yaml", path)}
	parent, key, keys := firstMissing(strings.TrimPrefix(withoutIndices(path), "spec."))
	if near := wording.Nearest(key, keys); near != "" {
		u.Nearest = parent + near
		u.Message += fmt.Sprintf("; did you mean %q?", u.Nearest)
		return u
	}
	if places := fieldsNamed(key); len(places) > 0 {
		u.Message += "; there is " + strings.Join(places, ", ")
		if parent == "" && slices.ContainsFunc(places, isOfMachines) {
			u.Message += "; the value that one machine has: add --node NAME"
		}
		return u
	}
	field := strings.TrimSuffix(parent, ".")
	switch {
	case field == "":
		u.Message += "; kiln explain lists the fields"
	case len(keys) == 0:
		u.Message += fmt.Sprintf("; kiln documents no fields below %s", field)
	default:
		u.Message += fmt.Sprintf("; kiln explain %s lists the fields there are", field)
	}
	return u
}

func isOfMachines(path string) bool { return strings.HasPrefix(path, "machines.") }

// firstMissing returns the first key of a path that is no field, the path in front of it with a dot
// at its end, and the keys that there are in its place.
func firstMissing(path string) (parent, key string, keys []string) {
	keys = append(keysOf(reflect.TypeFor[Cluster]()), keysOf(reflect.TypeFor[Spec]())...)
	for key := range strings.SplitSeq(path, ".") {
		doc, ok := Field(parent + key)
		if !ok {
			return parent, key, keys
		}
		parent, keys = parent+key+".", doc.Fields
	}
	return parent, "", keys
}

// fieldsNamed returns the first fields with a name, or with one that contains it.
func fieldsNamed(name string) (found []string) {
	var similar []string
	for _, path := range FieldPaths() {
		last := path[strings.LastIndexByte(path, '.')+1:]
		if last == name && last != path {
			found = append(found, path)
		} else if len(name) > 2 && strings.Contains(strings.ToLower(last), strings.ToLower(name)) {
			similar = append(similar, path)
		}
	}
	if found == nil {
		found = similar
	}
	return found[:min(len(found), maxPlaces)]
}

// FieldPaths returns the paths of all fields of spec, in the order of the types.
func FieldPaths() (paths []string) {
	walkFields(func(path string, _ *field) {
		if path != "" && inSpec(path) {
			paths = append(paths, path)
		}
	})
	return paths
}
