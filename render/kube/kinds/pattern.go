package kinds

import (
	"errors"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// Regular expressions of definitions are bounded: nested repetitions make one of 40 characters as
// large as 3 million steps, and to compare a value then takes minutes and gigabytes. The bounds are
// far above the expressions in use, which have some thousand steps.
const (
	maxSteps = 100_000     // of one expression
	maxWork  = 200_000_000 // steps times characters, for all values of a document
)

type pattern struct {
	*regexp.Regexp
	steps int
}

// compile compiles a pattern of a definition, without a Regexp if it is none or beyond maxSteps.
func compile(text string) (p pattern) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p
	}
	if p.steps = steps(parsed); p.steps > maxSteps {
		return p
	}
	p.Regexp, err = regexp.Compile(text)
	if err != nil {
		return pattern{}
	}
	return p
}

// definedPatterns checks the regular expressions in the schemas of a CustomResourceDefinition, as
// the API server does: k8s.io/apiextensions-apiserver v0.36.3, pkg/apiserver/schema/validation.go.
func (m *mistakes) definedPatterns(o map[string]any, root *yamltext.Location) {
	spec, _ := o["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for i, v := range versions {
		version, _ := v.(map[string]any)
		whole, _ := version["schema"].(map[string]any)
		at := root.Key("spec").Key("versions").Index(i).Key("schema").Key("openAPIV3Schema")
		m.schemaPatterns(whole["openAPIV3Schema"], at)
	}
}

func (m *mistakes) schemaPatterns(v any, at *yamltext.Location) {
	s, ok := v.(map[string]any)
	if !ok || m.full() {
		return
	}
	if text, ok := s["pattern"].(string); ok {
		var wrong *syntax.Error
		if _, err := syntax.Parse(text, syntax.Perl); errors.As(err, &wrong) {
			m.add(at.Key("pattern"), "%s is not a regular expression: %s", Show(text),
				wrong.Code)
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		m.schemaPatterns(s[key], at.Key(key))
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		schemas, _ := s[key].([]any)
		for i, below := range schemas {
			m.schemaPatterns(below, at.Key(key).Index(i))
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		m.schemaPatterns(properties[name], at.Key("properties").Key(name))
	}
}

// steps returns about how many steps an expression has when it is compiled.
func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n = min(n+steps(sub), maxSteps+1)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxSteps+1)
}

// patterns compares the values of one document with regular expressions.
type patterns struct {
	compiled map[string]pattern
	work     int // steps that it took so far
}

// mismatch returns why a string does not match a regular expression of its definition, "" if it
// does. Every string matches an expression that cannot be compiled: definedPatterns reports it if
// it is wrong, and the API server compares it if it is only large.
func (all *patterns) mismatch(v, text string) string {
	p, known := all.compiled[text]
	if !known {
		if all.compiled == nil {
			all.compiled = map[string]pattern{}
		}
		p = compile(text)
		all.compiled[text] = p
	}
	if p.Regexp == nil || all.work > maxWork {
		return ""
	}
	if all.work += p.steps * len(v); all.work > maxWork {
		return "takes too long to compare with the regular expressions of its definition; " +
			"shorten the value, or simplify the expression"
	}
	if !p.MatchString(v) {
		return Show(v) + " does not match " + cut(text)
	}
	return ""
}

// cut returns a regular expression as a message quotes it.
func cut(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
