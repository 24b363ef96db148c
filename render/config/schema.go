package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

const (
	schemaVersion = "https://json-schema.org/draft/2020-12/schema"
	schemaID      = "https://" + APIVersion + "/cluster.schema.json"

	// durationPattern matches every duration that Parse accepts, and some that it refuses.
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
)

// schemaNode is one JSON Schema. Its fields are in the order in which people read them.
type schemaNode struct {
	Schema      string         `json:"$schema,omitempty"`
	ID          string         `json:"$id,omitempty"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	Type        any            `json:"type,omitempty"` // a name or a list of names
	Const       any            `json:"const,omitempty"`
	Enum        []string       `json:"enum,omitempty"`
	Default     any            `json:"default,omitempty"`
	Pattern     string         `json:"pattern,omitempty"`
	Examples    []any          `json:"examples,omitempty"`
	Items       *schemaNode    `json:"items,omitempty"`
	Contains    *schemaNode    `json:"contains,omitempty"`
	Properties  orderedSchemas `json:"properties,omitempty"`
	Required    []string       `json:"required,omitempty"`
	Additional  any            `json:"additionalProperties,omitempty"` // false, or a schema
	Ref         string         `json:"$ref,omitempty"`
	OneOf       []*schemaNode  `json:"oneOf,omitempty"`
	AllOf       []*schemaNode  `json:"allOf,omitempty"`
	If          *schemaNode    `json:"if,omitempty"`
	Then        *schemaNode    `json:"then,omitempty"`
	Defs        orderedSchemas `json:"$defs,omitempty"`
}

type namedSchema struct {
	name   string
	schema *schemaNode
}

// orderedSchemas marshals to a JSON object whose keys have the order of the slice. A map would have
// that of the alphabet.
type orderedSchemas []namedSchema

// MarshalJSON writes the entries in order.
func (o orderedSchemas) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(e.schema)
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(e.name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema returns the JSON Schema (draft 2020-12) of cluster.yaml for editors: types, allowed
// values, defaults and the comments of the fields. It is indented. It accepts everything that Parse
// accepts; Parse refuses more.
func Schema() []byte {
	s := &schemaBuilder{done: map[string]bool{}}
	root := s.object(reflect.TypeFor[Cluster](), "")
	root.Schema, root.ID = schemaVersion, schemaID
	root.Title = "kiln cluster.yaml (" + APIVersion + ")"
	root.Defs = s.defs
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // it is made of strings and maps
	}
	return append(data, '\n')
}

type schemaBuilder struct {
	defs orderedSchemas
	done map[string]bool // by the name of the definition
}

func (s *schemaBuilder) object(t reflect.Type, program string) *schemaNode {
	node := &schemaNode{Type: "object", Description: docs()[t.Name()], Additional: false}
	for i := range structs[t].list {
		f := &structs[t].list[i]
		value := s.field(t, f, cmp.Or(f.program, program))
		value.Description = fieldText(t, f)
		switch of := cmp.Or(value.Items, value); len(f.enum) {
		case 0:
		case 1:
			of.Const = f.enum[0]
		default:
			of.Enum = f.enum
		}
		if f.def != "" {
			value.Default = schemaDefault(f.def, t.FieldByIndex(f.index).Type)
		}
		if f.example != "" && value.Type == "string" {
			value.Examples = []any{strings.Trim(f.example, `"`)}
		}
		node.Properties = append(node.Properties, namedSchema{f.name, value})
		if f.required {
			node.Required = append(node.Required, f.name)
		}
		if f.or != "" {
			node.OneOf = []*schemaNode{{Required: []string{f.name}}, {Required: []string{f.or}}}
		}
	}
	return node
}

func (s *schemaBuilder) field(t reflect.Type, f *field, program string) *schemaNode {
	switch {
	case f.name == "cloudConfig":
		return cloudConfigSchema()
	case f.name == "kubelet":
		return s.kubelet()
	}
	value := s.value(t.FieldByIndex(f.index).Type, program)
	if pattern := formats[f.format]; pattern != "" {
		switch {
		case value.Pattern != "": // that of all durations
			value.AllOf = []*schemaNode{{Pattern: pattern}}
		case value.Items != nil:
			value.Items.Pattern = pattern
		case value.Type == "object":
			value.Additional = &schemaNode{Type: "string", Pattern: pattern}
		case f.required || f.or != "":
			value.Pattern = pattern
		default: // an empty string is like none
			value.Pattern = "^$|" + pattern
		}
	}
	if f.name == "nodes" {
		value.Contains = property("role", &schemaNode{Const: roleControlPlane})
	}
	return value
}

func (s *schemaBuilder) value(t reflect.Type, program string) *schemaNode {
	switch {
	case t == argType:
		return s.define(program, func() *schemaNode { return s.flag(program) })
	case t == durationType:
		return &schemaNode{Type: "string", Pattern: durationPattern}
	case t == stringsType:
		return &schemaNode{Type: "object", Additional: &schemaNode{Type: "string"}}
	case t == freeMapType:
		return &schemaNode{Type: "object"}
	case t.Kind() == reflect.Pointer:
		return s.value(t.Elem(), program)
	case t.Kind() == reflect.Slice:
		return &schemaNode{Type: "array", Items: s.value(t.Elem(), program)}
	case t == reflect.TypeFor[Component](): // of two programs
		return s.object(t, program)
	case t.Kind() == reflect.Struct:
		return s.define(t.Name(), func() *schemaNode { return s.object(t, program) })
	case t.Kind() == reflect.Bool:
		return &schemaNode{Type: "boolean"}
	case t.Kind() == reflect.Int, t.Kind() == reflect.Uint32:
		return &schemaNode{Type: "integer"}
	}
	return &schemaNode{Type: "string"}
}

// define returns a reference to a definition. It makes that once, before those of the types in it.
func (s *schemaBuilder) define(name string, schema func() *schemaNode) *schemaNode {
	if !s.done[name] {
		s.done[name] = true
		at := len(s.defs)
		s.defs = append(s.defs, namedSchema{name: name})
		s.defs[at].schema = schema()
	}
	return &schemaNode{Ref: "#/$defs/" + name}
}

func schemaDefault(text string, t reflect.Type) any {
	switch t.Kind() {
	case reflect.Slice:
		return strings.Split(text, ",")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			panic("config: default tag: " + err.Error()) // a test reads every tag
		}
		return n
	}
	return text
}
