package config

import (
	_ "embed"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed init.yaml
var initText string

// Init returns a first cluster.yaml for people to edit: one control plane and one worker, commented. name becomes the
// cluster's name; Parse accepts the result if it is an RFC 1123 label.
func Init(name string) []byte {
	// A name such as 1234 or on needs quotes; the YAML library knows which. It cannot fail on a string.
	quoted, err := yaml.Marshal(name)
	if err != nil {
		quoted = []byte(name + "\n")
	}
	return []byte(strings.Replace(initText, "name: demo\n", "name: "+string(quoted), 1))
}
