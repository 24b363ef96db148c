package manifests

import (
	"bytes"
	"encoding/json"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// Unpack returns a stream with the items of its lists in their place, as documents of their own.
func Unpack(stream []byte) []byte {
	var all [][]byte
	unpacked := false
	for _, d := range split(stream) {
		all = append(all, d.text)
		unpacked = unpacked || d.item
	}
	if !unpacked {
		return stream
	}
	return Join(all...)
}

// document is a document of a stream, or an item of a list.
type document struct {
	text []byte
	line int // of the stream, from 1
	item bool
}

// split divides a stream into its documents, and lists into their items, as kubectl does.
func split(stream []byte) (all []document) {
	for _, part := range yamltext.Parts(stream) {
		all = append(all, unpack(document{text: part.Text, line: part.Line})...)
	}
	return all
}

// listKind is what every list has, and some others, such as definitions.
var listKind = []byte("List")

// unpack returns the items of a document that is a list, and theirs. An item without apiVersion and
// kind has those of its list. A document that is no list, or not YAML, stays as it is.
func unpack(d document) []document {
	var list struct {
		APIVersion string      `yaml:"apiVersion"`
		Kind       string      `yaml:"kind"`
		Items      yamlv3.Node `yaml:"items"`
	}
	if !bytes.Contains(d.text, listKind) || yamlv3.Unmarshal(d.text, &list) != nil ||
		!strings.HasSuffix(list.Kind, "List") ||
		list.Items.Kind != yamlv3.SequenceNode && list.Items.Tag != "!!null" {
		return []document{d}
	}
	text, err := yaml.YAMLToJSONStrict(d.text)
	var raw struct {
		Items []map[string]json.RawMessage `json:"items"`
	}
	if err != nil || json.Unmarshal(text, &raw) != nil {
		return []document{d}
	}
	var all []document
	for i, item := range raw.Items {
		if kind := strings.TrimSuffix(list.Kind, "List"); item["kind"] == nil && kind != "" {
			item["apiVersion"], _ = json.Marshal(list.APIVersion)
			item["kind"], _ = json.Marshal(kind)
		}
		one, _ := json.Marshal(item)
		one, _ = yaml.JSONToYAML(one)
		line := d.line + list.Items.Content[i].Line - 1
		all = append(all, unpack(document{text: one, line: line, item: true})...)
	}
	return all
}
