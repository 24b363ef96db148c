package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// maxPlaces is how many fields of one name NoField lists.
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

// fieldsNamed returns the paths of the first fields with a name, or with one that contains it, at
// most maxPlaces.
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
