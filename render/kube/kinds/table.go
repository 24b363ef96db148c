package kinds

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed fields.txt
var fieldsText string

// table holds the kinds and the fields of their types, in all minors.
type table struct {
	minors []int                       // that the table knows, sorted
	kinds  map[kind][]row              // the type of a kind
	types  map[string]map[string][]row // the fields of a type, by name
}

// row is a type and the minors in which it holds.
type row struct {
	typ    string
	minors []int // nil stands for all
}

func (r row) holds(minor int) bool { return r.minors == nil || slices.Contains(r.minors, minor) }

// fields returns the table of fields.txt. Its lines are:
//
//	minors ALL
//	kind VERSION KIND TYPE [MINORS]
//	type TYPE
//		FIELD TYPE [MINORS]
var fields = sync.OnceValue(func() *table {
	t := &table{kinds: map[kind][]row{}, types: map[string]map[string][]row{}}
	var owner map[string][]row
	for line := range strings.Lines(fieldsText) {
		words := strings.Fields(line)
		switch {
		case words[0] == "minors":
			t.minors = readMinors(words[1:])
		case strings.HasPrefix(line, "\t"):
			owner[words[0]] = append(owner[words[0]], readRow(words[1:]))
		case words[0] == "type":
			owner = map[string][]row{}
			t.types[words[1]] = owner
		case words[0] == "kind":
			is := kind{words[1], words[2]}
			t.kinds[is] = append(t.kinds[is], readRow(words[3:]))
		}
	}
	return t
})

// readRow reads a type and the minors after it.
func readRow(words []string) row {
	if len(words) == 1 {
		return row{typ: words[0]}
	}
	return row{words[0], readMinors(strings.Split(words[1], ","))}
}

func readMinors(words []string) (minors []int) {
	for _, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			panic("kinds: fields.txt: " + err.Error())
		}
		minors = append(minors, n)
	}
	return minors
}

// typeOf returns the type of a kind in a minor, "" if the minor does not have the kind.
func (t *table) typeOf(is kind, minor int) string { return typeIn(t.kinds[is], minor) }

// field returns the type of a field in a minor, "" if the type does not have it there.
func (t *table) field(owner, name string, minor int) string {
	return typeIn(t.types[owner][name], minor)
}

func typeIn(rows []row, minor int) string {
	for _, r := range rows {
		if r.holds(minor) {
			return r.typ
		}
	}
	return ""
}

// Field is a field of a type in one of the minors. Its type is a scalar, a type with fields, or one
// of these after [] (a list) or map: (a map with free keys).
type Field struct{ Name, Type string }

// TypeOf returns the type of a kind in the newest minor, "" if it has no such kind.
func TypeOf(apiVersion, name string) string {
	t := fields()
	return t.typeOf(kind{apiVersion, name}, t.minors[len(t.minors)-1])
}

// FieldsOf returns the fields that a type has in one of the minors, sorted by name, each with its
// type in the newest of them; nil of a scalar type.
func FieldsOf(typ string) (list []Field) {
	of := fields().types[typ]
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, Field{name, of[name][len(of[name])-1].typ})
	}
	return list
}

// names returns the fields that a type has in a minor, sorted.
func (t *table) names(owner string, minor int) (out []string) {
	for name, rows := range t.types[owner] {
		if typeIn(rows, minor) != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
