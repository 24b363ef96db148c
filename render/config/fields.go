package config

import (
	"reflect"
	"strings"
)

// field is what the types and their struct tags say about one key of cluster.yaml.
type field struct {
	name     string
	number   int // within its mapping
	index    []int
	required bool     // an absent key is a mistake
	enum     []string // the allowed values, if they are few
	def      string   // the value of an absent key, as text
	example  string   // what to write, for the message about a missing one
	machine  int      // the field's number within Machine, also where Machine is inline; -1 for other fields
}

// fieldList holds the keys of one mapping in the order of the type.
type fieldList struct {
	list   []field
	byName map[string]*field
}

// Types that the decoder treats in their own ways.
var (
	machineType  = reflect.TypeFor[Machine]()
	durationType = reflect.TypeFor[Duration]()
	freeType     = reflect.TypeFor[map[string]any]()
	textsType    = reflect.TypeFor[map[string]string]()
)

// structs holds the keys of every mapping of cluster.yaml. It is made once from the types and never changed.
var structs = collectFields(reflect.TypeFor[Cluster](), map[reflect.Type]*fieldList{})

// collectFields adds t, and every struct that it leads to, to known.
func collectFields(t reflect.Type, known map[reflect.Type]*fieldList) map[reflect.Type]*fieldList {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return collectFields(t.Elem(), known)
	case reflect.Struct:
	default:
		return known
	}
	if known[t] != nil {
		return known
	}
	fl := &fieldList{byName: map[string]*field{}}
	known[t] = fl
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.IsExported() {
			continue
		}
		collectFields(sf.Type, known)
		if sf.Anonymous {
			for _, f := range known[sf.Type].list {
				f.index = append([]int{i}, f.index...)
				fl.list = append(fl.list, f)
			}
			continue
		}
		f := newField(sf, i)
		if t == machineType {
			f.machine = i
		}
		fl.list = append(fl.list, f)
	}
	for i := range fl.list {
		fl.list[i].number = i
		fl.byName[fl.list[i].name] = &fl.list[i]
	}
	return known
}

// newField reads the tags of the i-th field of a struct.
func newField(sf reflect.StructField, i int) field {
	name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f := field{
		name:     name,
		index:    []int{i},
		required: !strings.Contains(options, "omitempty"),
		def:      sf.Tag.Get("default"),
		example:  sf.Tag.Get("example"),
		machine:  -1,
	}
	if enum := sf.Tag.Get("enum"); enum != "" {
		f.enum = strings.Split(enum, ",")
	}
	return f
}
