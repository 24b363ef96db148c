package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln/render/suggest"
)

// secretKey matches keys under which people would write a secret.
var secretKey = regexp.MustCompile(`(?i)passw|token|secret|privatekey|cakey|encryptionkey|certificatekey`)

// unknown reports a key that the mapping of type t does not have, with the best guess at what was meant.
func (d decoder) unknown(key *yaml.Node, fields *fieldList, t reflect.Type, at *where) {
	if len(d.found) > maxProblems {
		// It comes after those that are shown, so what was meant does not matter, and looking for it takes time.
		d.breakAt(key, at, "unknown field")
		return
	}
	names := make([]string, len(fields.list))
	for i := range fields.list {
		names[i] = fields.list[i].name
	}
	var hint string
	near := suggest.Nearest(key.Value, names)
	owners := ownersOf(key.Value)
	switch {
	case near != "" && strings.EqualFold(near, key.Value):
		hint = fmt.Sprintf("did you mean %q? Upper and lower case matter", near)
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case len(owners) > 0:
		hint = "it belongs to " + strings.Join(owners, " or ")
	case secretKey.MatchString(key.Value):
		hint = "secrets stand in the bundle, never in cluster.yaml"
	case len(names) <= 12:
		hint = "the fields here are " + strings.Join(names, ", ")
	default:
		hint = "`kiln explain` lists the fields"
	}
	if near != "" {
		// What was meant is clear: that it is missing need not be said as well.
		d.hide(at.up.key(near).String())
	}
	d.breakAt(key, at, "unknown field; %s", hint)
}

// ownersOf returns where a key does exist, if that is in few places. The settings of machines count as one.
func ownersOf(name string) []string {
	var owners []string
	if structs[machineType].byName[name] != nil {
		owners = append(owners, "machines, a node or a pool")
	}
	walkFields(func(path string, f *field) {
		if parent, last, ok := cutLast(path); ok && last == name && f.machine < 0 && !strings.Contains(parent, "machines") {
			owners = append(owners, parent)
		}
	})
	if len(owners) > 3 {
		return nil
	}
	return slices.Compact(owners)
}

// walkFields calls f for every field of cluster.yaml, with its path without indices, in the order of the types.
func walkFields(f func(path string, fd *field)) {
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if structs[t] == nil {
			return
		}
		for i := range structs[t].list {
			fd := &structs[t].list[i]
			path := strings.TrimPrefix(prefix+"."+fd.name, ".")
			if path == "spec" {
				path = ""
			}
			f(path, fd)
			walk(t.FieldByIndex(fd.index).Type, path)
		}
	}
	walk(reflect.TypeFor[Cluster](), "")
}

// cutLast splits a path before its last key.
func cutLast(path string) (parent, last string, ok bool) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:], true
	}
	return "spec", path, path != ""
}
