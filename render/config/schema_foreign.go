package config

import (
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/kube/kinds"
)

// kubelet returns the schema of the fields of KubeletConfiguration that a layer may have in one of
// the minors.
func (s *schemaBuilder) kubelet() *schemaNode {
	return s.define(kubeletKind, func() *schemaNode {
		node := s.kindOf(kinds.TypeOf(kubeletAPI, kubeletKind))
		node.Properties = slices.DeleteFunc(node.Properties, func(p namedSchema) bool {
			return ownKubeletFields[p.name] != ""
		})
		for i, p := range node.Properties {
			if harm, ok := harmfulFields[p.name]; ok {
				node.Properties[i].schema = &schemaNode{Const: !harm.value}
			}
		}
		return node
	})
}

// kindOf returns the schema of a type of Kubernetes. A null is as good as an absent value there.
func (s *schemaBuilder) kindOf(typ string) *schemaNode {
	if element, ok := strings.CutPrefix(typ, "[]"); ok {
		return &schemaNode{Type: orNull("array"), Items: s.kindOf(element)}
	}
	if element, ok := strings.CutPrefix(typ, "map:"); ok {
		return &schemaNode{Type: orNull("object"), Additional: s.kindOf(element)}
	}
	fields := kinds.FieldsOf(typ)
	if fields == nil {
		return &schemaNode{Type: orNull(scalarTypes[typ])}
	}
	node := &schemaNode{Type: orNull("object"), Additional: false}
	for _, f := range fields {
		node.Properties = append(node.Properties, namedSchema{f.Name, s.kindOf(f.Type)})
	}
	return node
}

// orNull returns the types of a value that may be null too; none if its type is not known.
func orNull(name string) any {
	if name == "" {
		return nil
	}
	return []string{name, "null"}
}

// scalarTypes maps types of fields of Kubernetes to those of JSON. The others may have several.
var scalarTypes = map[string]string{
	"bool": "boolean", "string": "string", "duration": "string",
	"int32": "integer", "int64": "integer", "float64": "number",
}

func cloudConfigSchema() *schemaNode {
	node := &schemaNode{Type: "object", Additional: false}
	types := map[string]string{kindMap: "object", kindList: "array"}
	for _, key := range CloudKeys() {
		value := &schemaNode{}
		if kind := types[cloudKeys[key]]; kind != "" {
			value.Type = kind
		}
		node.Properties = append(node.Properties, namedSchema{key, value})
	}
	return node
}

// flag returns the schema of a flag of a program: its name and the words of its value are those of
// one of the minors.
func (s *schemaBuilder) flag(program string) *schemaNode {
	names, values := map[string]bool{}, map[string]flags.Words{}
	for minor := target.OldestMinor(); minor <= target.NewestMinor(); minor++ {
		p, _ := flags.FindProgram(program, minor)
		for _, f := range p.Flags() {
			if !owns(ownFlags[program], f.Name) {
				names[f.Name] = true
			}
			if words, ok := p.Words(f.Name); ok && words.Form != "apis" {
				all := append(values[f.Name].List, words.List...)
				values[f.Name] = flags.Words{Form: words.Form, List: all}
			}
		}
	}
	node := s.object(argType, "")
	if program != flags.Kubelet { // one of an older minor may have others
		node.Properties[0].schema.Enum = slices.Sorted(maps.Keys(names))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		node.AllOf = append(node.AllOf, &schemaNode{
			If: property("name", &schemaNode{Const: name}),
			Then: property("value",
				&schemaNode{Pattern: wordsPattern(values[name], name == "authorization-mode")}),
		})
	}
	return node
}

func property(key string, value *schemaNode) *schemaNode {
	return &schemaNode{Properties: orderedSchemas{{key, value}}}
}

// wordsPattern returns the pattern of a value that is made of words. A list may have quoted words,
// which are not looked at. limited leaves out AlwaysAllow, which no profile of security allows.
func wordsPattern(words flags.Words, limited bool) string {
	slices.Sort(words.List)
	list := slices.DeleteFunc(slices.Compact(words.List), func(word string) bool {
		return limited && word == "AlwaysAllow"
	})
	one := "(" + strings.ReplaceAll(strings.Join(list, "|"), ".", `\.`) + ")"
	switch words.Form {
	case "word":
		return `^` + one + `?$|"`
	case "signed":
		one = `(\*|-?` + one + `)`
	}
	return `^(` + one + `(,` + one + `)*)?$|"`
}
