package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// outsideSpec are the fields of cluster.yaml that are not below spec.
var outsideSpec = []string{"apiVersion", "kind", "metadata"}

// locations returns the location of the whole file and that of its spec. No path has the key spec
// in front of the fields below it.
func locations() (root, spec *yamltext.Location) {
	root = &yamltext.Location{}
	return root, root.Key("spec").Omit()
}

// inSpec reports whether a path, as messages have it, is below spec.
func inSpec(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return !slices.Contains(outsideSpec, first)
}

// locate reads a path as messages have it.
func locate(document *yaml.Node, path string) *yamltext.Location {
	root, spec := locations()
	if inSpec(path) {
		return yamltext.Locate(document, spec, path)
	}
	return yamltext.Locate(document, root, path)
}
