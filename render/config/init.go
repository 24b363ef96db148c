package config

import (
	_ "embed"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed init.yaml
var initText string

// Init returns a first cluster.yaml for people to edit: one control plane and one worker, with
// comments. name is the name of the cluster. Parse accepts the result if the name is an RFC 1123
// label.
func Init(name string) []byte {
	// The YAML library knows which names need quotes, such as 1234 and on. It cannot fail on a
	// string.
	quoted, err := yaml.Marshal(name)
	if err != nil {
		quoted = []byte(name + "\n")
	}
	return []byte(strings.Replace(initText, "name: demo\n", "name: "+string(quoted), 1))
}
