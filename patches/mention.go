package patches

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mention says how a file of an add-on may bring Secrets.
type Mention struct {
	Kind      bool // something in it has the kind Secret
	Generator bool // it has a secretGenerator
}

// any reports whether the file may bring a Secret.
func (m Mention) any() bool { return m.Kind || m.Generator }

// secretLetters matches the word, or letters that are written as numbers.
var secretLetters = regexp.MustCompile(`(?i)secret|\\[xu]`)

// secretWord matches the usual ways to write a mention, also behind a fault of YAML.
var secretWord = regexp.MustCompile(`(?i)(kind["']?\s*:\s*["']?Secret\b)|secretGenerator`)

// Mentions returns how a text may bring Secrets. It reads the text as kustomize does: YAML has many
// ways to write a word, such as an escape, a tag, an anchor or a block.
func Mentions(text []byte) (m Mention) {
	if !secretLetters.Match(text) {
		return m
	}
	for _, found := range secretWord.FindAllSubmatchIndex(text, -1) {
		isKind := found[2] >= 0
		m.Kind, m.Generator = m.Kind || isKind, m.Generator || !isKind
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for !m.Kind || !m.Generator {
		var n yaml.Node
		if documents.Decode(&n) != nil {
			break // the end, or no YAML
		}
		m.look(&n)
	}
	return m
}

// look notes what a node and those in it mention. What an alias stands for is one of them.
func (m *Mention) look(n *yaml.Node) {
	for i, in := range n.Content {
		m.look(in)
		if n.Kind != yaml.MappingNode || i%2 != 0 {
			continue
		}
		value := n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		m.Kind = m.Kind || strings.EqualFold(in.Value, "kind") &&
			strings.EqualFold(value.Value, secretKind)
		m.Generator = m.Generator || strings.EqualFold(in.Value, "secretGenerator")
	}
}
