package patches

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// withHead returns a strategic merge patch with apiVersion, kind and metadata.name. Each of these
// fields that the patch lacks, or has without a value, gets a value without a meaning: kustomize
// reads no strategic merge without them and, if it has a target, ignores what they say. withHead
// fails if the patch is not YAML.
func withHead(patch string) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(patch), &document); err != nil {
		return "", err
	}
	root := document.Content[0]
	metadata := valueOf(root, "metadata")
	switch {
	case metadata.Kind == yaml.AliasNode:
		// The name belongs to this use of the values alone.
		*metadata = yaml.Node{Kind: yaml.MappingNode, Content: metadata.Alias.Content}
	case isEmpty(metadata):
		*metadata = yaml.Node{Kind: yaml.MappingNode}
	}
	for _, head := range []struct {
		in         *yaml.Node
		key, value string
	}{
		{root, "apiVersion", "v1"}, {root, "kind", "Any"}, {metadata, "name", "any"},
	} {
		if at := valueOf(head.in, head.key); isEmpty(at) {
			at.SetString(head.value)
		}
	}
	simplify(&document)
	writeNulls(&document)
	text, err := yaml.Marshal(&document)
	return string(text), err
}

// valueOf returns the value of a key of a map. A map without the key gets it, with an empty value.
func valueOf(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	name, value := &yaml.Node{}, &yaml.Node{Kind: yaml.ScalarNode}
	name.SetString(key)
	m.Content = append(m.Content[:len(m.Content):len(m.Content)], name, value)
	return value
}

func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Value == "" || n.ShortTag() == "!!null")
}

// writeNulls writes out empty values: in brackets the library makes empty strings of them.
func writeNulls(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.ShortTag() == "!!null" {
		n.Value = "null"
	}
	for _, below := range n.Content {
		writeNulls(below)
	}
}

// simplify gives each value a form that the library reads as it wrote it. The library (yaml v3.0.5)
// writes lines behind | and > with another indentation and with more line ends. Comments are
// removed: nobody reads them.
func simplify(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0, strings.Contains(n.Value, "\n"):
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, below := range n.Content {
		simplify(below)
	}
}
