package addons

import (
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/yamltext"
)

// SecretFiles returns the paths of the add-ons' files in which a Secret has values, relative to the
// folder of the configuration. The path of a folder with a secretGenerator stands for all of its
// files. It leaves out add-ons that cannot be read.
func SecretFiles(c *config.Cluster) (names []string) {
	for _, a := range c.Spec.Addons {
		files := c.Folder(a.Path)
		if files == nil {
			files = map[string][]byte{path.Clean(a.Path): c.Text(a.Path)}
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			switch mention := patches.Mentions(files[name]); {
			case mention.Generator:
				names = append(names, path.Dir(name)+"/")
			case mention.Kind && hasValues(files[name]):
				names = append(names, name)
			}
		}
	}
	return names
}

// hasValues reports whether a stream has a Secret with values.
func hasValues(stream []byte) bool {
	if yamltext.Object.Check(stream) != nil {
		return false
	}
	return slices.ContainsFunc(yamltext.Split(stream), func(doc []byte) bool {
		var o struct {
			Kind             string
			Data, StringData map[string]any
		}
		return yaml.Unmarshal(doc, &o) == nil && o.Kind == "Secret" &&
			len(o.Data)+len(o.StringData) > 0
	})
}
