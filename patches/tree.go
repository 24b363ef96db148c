package patches

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MaxAdded is how many bytes patches may add to a stream, and the "copy" operations of one JSON6902
// patch. Each patch is applied to what the ones before have made, and each copy may double the
// object. No file of a machine may be so large, and no object of etcd.
const MaxAdded = 1 << 20

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// tree is an object to which operations of JSON6902 are applied one by one, to find the first that
// does not fit. kustomize applies them once more, and has the last word.
type tree struct {
	root   any
	copied int // bytes that all copies have
}

func (t *tree) apply(op operation) (why string) {
	value := clone(op.Value) // later operations change it, and the next object gets the same
	switch op.Op {
	case "add", "test", "replace", "remove":
	case "copy", "move":
		if op.From == "" {
			return "from is empty; name a field"
		}
		if why := missingPart(t.root, op.From, false); why != "" {
			return why
		}
		if value = t.value(op.From); op.Op == "copy" {
			n := bytesOf(value)
			if t.copied += n; t.copied > MaxAdded {
				return fmt.Sprintf("the copies have %d bytes up to here; at most 1 MiB (%d), "+
					"because no object may be larger; leave out what is not needed",
					t.copied, MaxAdded)
			}
			value = clone(value)
		} else {
			t.set(op.From, nil, removed)
		}
	default:
		return "there is no such operation; write add, copy, move, remove, replace or test"
	}
	// The library replaces a key that is not there, which RFC 6902 forbids (4.3).
	exists := op.Op == "replace" || op.Op == "remove"
	if why := missingPart(t.root, op.Path, !exists); why != "" {
		return why
	}
	switch op.Op {
	case "test":
		if !reflect.DeepEqual(t.value(op.Path), value) {
			return "the value there is another one"
		}
		return ""
	case "replace":
		return t.set(op.Path, value, replaced)
	case "remove":
		return t.set(op.Path, nil, removed)
	}
	return t.set(op.Path, value, added)
}

// edit is what happens to a value of a map or list.
type edit int

const (
	added edit = iota
	replaced
	removed
)

func steps(pointer string) []string {
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[i])
	}
	return keys
}

func (t *tree) value(pointer string) any {
	at := t.root
	if pointer == "" {
		return at
	}
	for _, key := range steps(pointer) {
		at, _ = child(at, key)
	}
	return at
}

// child returns the value under a key of a map, or at an index of a list.
func child(value any, key string) (next any, ok bool) {
	switch v := value.(type) {
	case map[string]any:
		next, ok = v[key]
	case []any:
		if n, err := strconv.Atoi(key); err == nil && n >= 0 && n < len(v) {
			return v[n], true
		}
	}
	return next, ok
}

// set changes the value at a pointer that missingPart has followed, or returns why it cannot.
func (t *tree) set(pointer string, value any, what edit) (why string) {
	if pointer == "" {
		if what == replaced {
			t.root = value
			return ""
		}
		return "the path is empty; name a field"
	}
	t.root, why = changeAt(t.root, steps(pointer), value, what)
	return why
}

// changeAt returns a map or list with another value at the end of a path. A list may move.
func changeAt(in any, path []string, value any, what edit) (out any, why string) {
	key := path[0]
	if len(path) > 1 {
		next, _ := child(in, key)
		value, why = changeAt(next, path[1:], value, what)
		what = replaced
	}
	switch in := in.(type) {
	case map[string]any:
		if in[key] = value; what == removed {
			delete(in, key)
		}
		return in, why
	case []any:
		n, err := strconv.Atoi(key)
		if key == "-" && what == added {
			n, err = len(in), nil
		}
		if n < 0 && what == added {
			n += len(in) + 1 // the library counts from the end
		}
		switch {
		case err != nil || n < 0 || n > len(in) || n == len(in) && what != added:
			return in, fmt.Sprintf("the list has %d elements, from 0 on", len(in))
		case what == added:
			return slices.Insert(in, n, value), why
		case what == removed:
			return slices.Delete(in, n, n+1), why
		}
		in[n] = value
		return in, why
	}
	return in, "it is a single value"
}

// bytesOf returns about the number of bytes of a value in JSON.
func bytesOf(value any) (n int) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			n += len(key) + 4 + bytesOf(below)
		}
	case []any:
		for _, below := range v {
			n += 1 + bytesOf(below)
		}
	case string:
		n = len(v)
	}
	return n + 2
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[key] = clone(below)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = clone(below)
		}
		return out
	}
	return value
}

// missingPart returns which part of a pointer an object does not have, and what it has there; "" if
// it has all. The last step may be new if the caller says so.
func missingPart(value any, pointer string, mayEnd bool) string {
	if !strings.HasPrefix(pointer, "/") {
		return ""
	}
	keys := steps(pointer)
	if mayEnd {
		keys = keys[:len(keys)-1]
	}
	at := ""
	for _, key := range keys {
		next, ok := child(value, key)
		if ok {
			value, at = next, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			continue
		}
		there := "it is a single value"
		switch v := value.(type) {
		case map[string]any:
			if there = "it is empty"; len(v) > 0 {
				there = "there are " + offered(slices.Sorted(maps.Keys(v)))
			}
		case []any:
			there = fmt.Sprintf("the list has %d elements, from 0 on", len(v))
		}
		where := at
		if where == "" {
			where = "/"
		}
		return fmt.Sprintf("%s has no %q; %s", where, key, there)
	}
	return ""
}

const maxOffered = 20

// offered lists names, and counts those above maxOffered.
func offered(names []string) string {
	if more := len(names) - maxOffered; more > 0 {
		names = append(names[:maxOffered:maxOffered], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
