package judges

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// readable returns a file's content, and YAML instead of JSON for an object that the hook applies,
// so that tests plant their mistakes where people read.
func readable(f *File) string {
	applied := strings.HasPrefix(f.Path, "/etc/kiln/") && strings.HasSuffix(f.Path, ".yaml")
	if applied && strings.HasPrefix(string(f.Content), "{") {
		text, err := yaml.JSONToYAML(f.Content)
		if err != nil {
			panic(f.Path + ": " + err.Error())
		}
		return string(text)
	}
	return string(f.Content)
}
