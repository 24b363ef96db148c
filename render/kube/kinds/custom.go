package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Definition is the kind that defines others.
const Definition = "CustomResourceDefinition"

// schema is the part of an OpenAPI schema by which a custom resource is checked: types, required
// and unknown fields, and the limits of single values. Validation rules in CEL are not checked.
type schema struct {
	Type                 string            `json:"type"`
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties additional        `json:"additionalProperties"`
	Items                *schema           `json:"items"`
	Required             []string          `json:"required"`
	Enum                 []any             `json:"enum"`
	Pattern              string            `json:"pattern"`
	Minimum              *float64          `json:"minimum"`
	Maximum              *float64          `json:"maximum"`
	MinLength            *int              `json:"minLength"`
	MaxLength            *int              `json:"maxLength"`
	MinItems             *int              `json:"minItems"`
	MaxItems             *int              `json:"maxItems"`
	Nullable             bool              `json:"nullable"`
	Default              any               `json:"default"`
	IntOrString          bool              `json:"x-kubernetes-int-or-string"`
	PreserveUnknown      bool              `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool              `json:"x-kubernetes-embedded-resource"`
}

type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// define reads the schemas of a CustomResourceDefinition. One that cannot be read defines nothing.
func (c *Checker) define(text []byte) {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return
	}
	d, ok := Decode[definition](data)
	if !ok {
		return
	}
	of := schemas{}
	for _, v := range d.Spec.Versions {
		if v.Served {
			of[v.Name] = v.Schema.OpenAPIV3Schema
		}
	}
	c.schemas[groupKind{d.Spec.Group, d.Spec.Names.Kind}] = of
}

// schemas are those of a custom kind by the versions that are served; nil if a version has none.
type schemas map[string]*schema

// groupKind is the group and the name of a custom kind, in any version.
type groupKind struct{ group, name string }

// checkCustom checks a custom resource. ok reports whether its kind is defined.
func (c *Checker) checkCustom(w *walk, is kind, o map[string]any, at *yamltext.Location) (ok bool) {
	versions, ok := c.schemas[groupKind{groupOf(is.version), is.name}]
	if !ok {
		return false
	}
	_, version, _ := strings.Cut(is.version, "/")
	s, served := versions[version]
	if !served {
		w.add(at.Key("apiVersion"), "the definition of %s does not serve %s; write %s", is.name,
			Show(version), strings.Join(slices.Sorted(maps.Keys(versions)), " or "))
		return true
	}
	if s != nil {
		w.checkSchema(o, s, at, true)
	}
	return true
}

// checkSchema checks that a value fits a schema. root reports whether the value is a whole object.
func (w *walk) checkSchema(v any, s *schema, at *yamltext.Location, root bool) {
	if w.full() {
		return
	}
	if v == nil {
		if !s.Nullable && s.Default == nil && s.Type != "" {
			w.add(at, "want %s, got nothing", typeNames[s.Type])
		}
		return
	}
	if s.IntOrString {
		if message := scalar(v, "int-or-string"); message != "" {
			w.add(at, "%s", message)
		}
		return
	}
	if !fits(v, s.Type) {
		w.add(at, "want %s, got %s", typeNames[s.Type], nameOf(v))
		return
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return same(e, v) }) {
		w.add(at, "%s", notAmong(v, s.Enum))
	}
	switch v := v.(type) {
	case string:
		w.customString(v, s, at)
	case int64:
		w.customNumber(float64(v), s, at)
	case float64:
		w.customNumber(v, s, at)
	case []any:
		w.customLength(len(v), s.MinItems, s.MaxItems, "elements", at)
		for i, e := range v {
			if s.Items != nil {
				w.checkSchema(e, s.Items, at.Index(i), false)
			}
		}
	case map[string]any:
		w.customMap(v, s, at, root)
	}
}

// customMap checks the keys of a map. The API server knows apiVersion, kind and metadata of a whole
// object by itself. It drops a key with null where null is not allowed
// (PruneNonNullableNullsWithoutDefaults of k8s.io/apiextensions-apiserver v0.36.3).
func (w *walk) customMap(m map[string]any, s *schema, at *yamltext.Location, root bool) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if w.full() {
			return
		}
		whole := root || s.Embedded
		if whole && key == "metadata" {
			w.value(m[key], "meta/v1.ObjectMeta", at.Key(key))
			continue
		}
		if whole && (key == "apiVersion" || key == "kind") {
			continue
		}
		if p, ok := s.Properties[key]; ok {
			if m[key] != nil {
				w.checkSchema(m[key], &p, at.Key(key), false)
			}
			continue
		}
		switch more := s.AdditionalProperties; {
		case more.schema != nil && m[key] == nil:
		case more.schema != nil:
			w.checkSchema(m[key], more.schema, at.Key(key), false)
		case !more.free && !s.PreserveUnknown:
			names := slices.Sorted(maps.Keys(s.Properties))
			hint := wording.Hint(key, names)
			if hint == "" && len(names) > 0 && len(names) <= maxListed {
				hint = "; there are " + strings.Join(names, ", ")
			}
			w.add(at.Key(key), "its definition has no such field%s", hint)
		}
	}
	for _, name := range s.Required {
		p := s.Properties[name]
		if v, ok := m[name]; (!ok || v == nil && !p.Nullable) && p.Default == nil {
			w.add(at, "%s is missing", name)
		}
	}
}

type additional struct {
	schema *schema // nil without one
	free   bool    // they may have any value
}

// UnmarshalJSON reads a boolean or a schema.
func (a *additional) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.free) == nil {
		return nil
	}
	a.schema = &schema{}
	return strictjson.UnmarshalCaseSensitivePreserveInts(text, a.schema)
}

func (w *walk) customString(v string, s *schema, at *yamltext.Location) {
	w.customLength(len([]rune(v)), s.MinLength, s.MaxLength, "characters", at)
	if s.Pattern == "" {
		return
	}
	if wrong := w.patterns.mismatch(v, s.Pattern); wrong != "" {
		w.add(at, "%s", wrong)
	}
}

func (w *walk) customNumber(v float64, s *schema, at *yamltext.Location) {
	if s.Minimum != nil && v < *s.Minimum {
		w.add(at, "%s is below %s", asJSON(v), asJSON(*s.Minimum))
	}
	if s.Maximum != nil && v > *s.Maximum {
		w.add(at, "%s is above %s", asJSON(v), asJSON(*s.Maximum))
	}
}

func (w *walk) customLength(n int, least, most *int, what string, at *yamltext.Location) {
	if least != nil && n < *least {
		w.add(at, "has %d %s, fewer than %d", n, what, *least)
	}
	if most != nil && n > *most {
		w.add(at, "has %d %s, more than %d", n, what, *most)
	}
}

var typeNames = map[string]string{
	"array": "a list", "boolean": "a boolean", "integer": "a whole number", "number": "a number",
	"object": "a map", "string": "a string",
}

func fits(v any, typ string) bool {
	switch v := v.(type) {
	case bool:
		return typ == "boolean" || typ == ""
	case string:
		return typ == "string" || typ == ""
	case int64:
		return typ == "integer" || typ == "number" || typ == ""
	case float64:
		return typ == "number" || typ == "" || typ == "integer" && v == float64(int64(v))
	case []any:
		return typ == "array" || typ == ""
	}
	return typ == "object" || typ == ""
}

// same reports whether two values of documents are equal, 1 and 1.0 too.
func same(a, b any) bool {
	if n, ok := a.(int64); ok {
		if f, ok := b.(float64); ok {
			return float64(n) == f
		}
	}
	if f, ok := a.(float64); ok {
		if n, ok := b.(int64); ok {
			return float64(n) == f
		}
	}
	return reflect.DeepEqual(a, b)
}

// asJSON returns a value as a message quotes it. It writes large numbers with all their digits.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // no value of a document
	}
	return string(text)
}

// notAmong returns the message about a value that is none of those of a schema.
func notAmong(v any, values []any) string {
	var words []string
	for _, e := range values {
		if s, ok := e.(string); ok {
			words = append(words, s)
		} else {
			words = append(words, asJSON(e))
		}
	}
	s, ok := v.(string)
	if !ok || slices.Contains(words, s) { // such as "2" for 2
		return "want one of " + strings.Join(words, ", ")
	}
	return OneOf(words...).Check(s)
}
