package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// butane checks that a Butane config is a map with a known variant and a version. Butane checks the
// rest.
func (v *checker) butane(text string, at *yamltext.Location) {
	if text == "" {
		return
	}
	if e := yamltext.Butane.Find([]byte(text)); e != nil {
		v.report(at, "line %d, column %d: %s", e.Line, e.Column, e.Message)
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		v.report(at, "is not valid YAML (%s); check the indentation of the Butane config",
			strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode {
		v.report(at,
			"is not a Butane config; begin it with variant: flatcar or variant: fcos, and version")
		return
	}
	root := &yamltext.Location{}
	variant, _ := yamltext.Find(doc.Content[0], root.Key("variant"))
	version, _ := yamltext.Find(doc.Content[0], root.Key("version"))
	switch {
	case variant == nil:
		v.report(at,
			"has no variant; begin the Butane config with variant: flatcar or variant: fcos")
	case variant.Value != "flatcar" && variant.Value != "fcos":
		v.report(at, "has the variant %s; write variant: flatcar or variant: fcos",
			quote(variant.Value))
	case version == nil || version.Value == "":
		v.report(at,
			"has no version; write that of the Butane specification, such as version: 1.1.0")
	}
}
