package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// maxPath is how many bytes the path of a field may have before the values below it are compared
// whole. Each field holds its path, so the paths of a document that is nested thousands of levels
// deep would need gigabytes. The paths of Kubernetes' own objects have less than 200 bytes.
const maxPath = 1 << 10

// values compares two values at a path of a YAML document.
func (f *List) values(at string, old, new any) {
	if len(at) > maxPath {
		f.Value(at, oneLine(old), oneLine(new))
		return
	}
	switch a := old.(type) {
	case map[string]any:
		if b, ok := new.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
				f.member(joinPath(at, name), a, b, name)
			}
			return
		}
	case []any:
		if b, ok := new.([]any); ok {
			f.lists(at, a, b)
			return
		}
	case string:
		if b, ok := new.(string); ok && strings.Contains(a+b, "\n") {
			f.strings(at, a, b)
			return
		}
	}
	f.Value(at, oneLine(old), oneLine(new))
}

func (f *List) member(at string, old, new map[string]any, name string) {
	a, had := old[name]
	b, has := new[name]
	whole := len(at) > maxPath
	switch {
	case had && has:
		f.values(at, a, b)
	case had && nonEmptyList(a) && !whole:
		f.lists(at, a.([]any), []any{})
	case has && nonEmptyList(b) && !whole:
		f.lists(at, []any{}, b.([]any))
	case had:
		f.Add(at, pointer(oneLine(a)), nil)
	default:
		f.Add(at, nil, pointer(oneLine(b)))
	}
}

// nonEmptyList reports whether v is a list with members.
func nonEmptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0
}

// joinPath returns the path of a key below another.
func joinPath(at, name string) string {
	if at == "" {
		return name
	}
	if strings.ContainsAny(name, ". ") {
		return at + "[" + name + "]"
	}
	return at + "." + name
}

// identities are the keys that identify the objects of a list. The first key counts for which every
// object has a different value.
var identities = []string{"name", "mountPath", "key", "containerPort", "path", "type"}

// lists compares two lists: command lines by their flags, objects by their identities, scalars as a
// set.
func (f *List) lists(at string, old, new []any) {
	a, aTexts := scalars(old)
	b, bTexts := scalars(new)
	if aTexts && bTexts {
		if isCommand(a) || isCommand(b) {
			f.settings(flags(at, a), flags(at, b))
			return
		}
		f.Set(at, a, b)
		if slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
			f.Value(at, strings.Join(a, " "), strings.Join(b, " "))
		}
		return
	}
	for _, id := range identities {
		x, xOK := byIdentity(old, id)
		y, yOK := byIdentity(new, id)
		if !xOK || !yOK {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(union(x, y))) {
			f.member(at+"["+name+"]", x, y, name)
		}
		return
	}
	for i := range max(len(old), len(new)) {
		x, y := map[string]any{}, map[string]any{}
		if i < len(old) {
			x[""] = old[i]
		}
		if i < len(new) {
			y[""] = new[i]
		}
		f.member(fmt.Sprintf("%s[%d]", at, i), x, y, "")
	}
}

// scalars returns the members of a list as strings if all are scalars.
func scalars(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, v := range list {
		if isStructured(v) {
			return nil, false
		}
		out[i] = oneLine(v)
	}
	return out, true
}

func byIdentity(list []any, id string) (map[string]any, bool) {
	out := map[string]any{}
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok || m[id] == nil {
			return nil, false
		}
		name := oneLine(m[id])
		if out[name] != nil {
			return nil, false
		}
		out[name] = m
	}
	return out, true
}

// strings compares two strings of several lines inside a document, as YAML if they are YAML.
func (f *List) strings(at, old, new string) {
	var a, b any
	if decode([]byte(old), &a) && decode([]byte(new), &b) && isStructured(a) && isStructured(b) {
		f.values(at, a, b)
		return
	}
	f.Set(at, wording.SplitLines([]byte(old)), wording.SplitLines([]byte(new)))
}

// oneLine returns a value as one line.
func oneLine(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" || strings.Contains(v, "\n") {
			return strconv.Quote(v)
		}
		return v
	case nil:
		return "null"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
