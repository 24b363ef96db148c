// This file compares two contents, and lists the fields in which they differ. It knows the
// formats of the files on a machine, and not which machine they belong to.

package change

import "maps"

// Field is one value that differs. Each added or removed member of a list without an order is a
// field of its own.
type Field struct {
	// a path of keys, a flag, a directive, a part of a certificate; empty for a line
	Name string  `json:"name"`
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// Either returns the new value of a field, or the old one of a removed field.
func (f *Field) Either() string {
	switch {
	case f.New != nil:
		return *f.New
	case f.Old != nil:
		return *f.Old
	}
	return ""
}

// Text returns a value of a field for people: none for a side that lacks it.
func Text(value *string) string {
	if value == nil {
		return "none"
	}
	return *value
}

// List collects the fields in which two states of a thing differ.
type List []Field

// Add adds a value that differs. A side that lacks it is nil.
func (f *List) Add(name string, old, new *string) { *f = append(*f, Field{name, old, new}) }

// Value adds a value that differs. An empty value counts as absent.
func (f *List) Value(name, old, new string) {
	if old == new {
		return
	}
	f.Add(name, optional(old), optional(new))
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Set adds the members that only one side has, in their order.
func (f *List) Set(name string, old, new []string) {
	count := map[string]int{}
	for _, s := range new {
		count[s]++
	}
	for _, s := range old {
		if count[s]--; count[s] < 0 {
			f.Add(name, &s, nil)
		}
	}
	clear(count)
	for _, s := range old {
		count[s]++
	}
	for _, s := range new {
		if count[s]--; count[s] < 0 {
			f.Add(name, nil, &s)
		}
	}
}

// union returns a map with the keys of both.
func union[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, b)
	return out
}
