package config

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unexpanded is the message for a value that another program was to replace.
const unexpanded = "holds a variable, and kiln expands none; write the value, " +
	"or expand the file before kiln reads it, for example with envsubst"

// variable matches a variable of a shell or of a template language.
var variable = regexp.MustCompile(`\$\{\w+[^}]*\}|"\$\w+"|\{\{.*\}\}`)

// isTemplate reports whether a value is {{ name }} without quotes, which YAML reads as a map in a
// map.
func isTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) == 2 &&
		n.Content[0].Kind == yaml.MappingNode
}

// blameVariable returns the message about a value that is a variable, or has one, if message says
// that the value itself is wrong. Otherwise it returns message.
func blameVariable(message string, value *yaml.Node) string {
	quoted := quote(value.Value)
	if strings.HasPrefix(message, quoted) && variable.MatchString(quoted) {
		return unexpanded
	}
	return message
}
