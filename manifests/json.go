package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"
)

// parsed is an object as it was parsed. Copies of an Object share it.
type parsed struct {
	text  []byte // JSON as the parser writes it
	once  sync.Once
	whole []byte // what Object.JSON returns
}

// Decode stores the object in the value that v points to, as package encoding/json does.
func (o Object) Decode(v any) error { return json.Unmarshal(o.parsed.text, v) }

// JSON returns the object as JSON on one line, the form in which machines apply it. The API server
// asks for YAML in a server-side apply, and JSON is YAML too. Its audit log keeps a request's body
// as it came, within JSON, and loses the event if the body is YAML (LogRequestPatch in
// k8s.io/apiserver/pkg/audit/request.go of Kubernetes 1.36). kubectl sends JSON as well. The caller
// must not change the bytes.
func (o Object) JSON() []byte {
	o.parsed.once.Do(func() { o.parsed.whole = oneLine(o.parsed.text) })
	return o.parsed.whole
}

// JSON returns an object of kiln's as Object.JSON does.
func JSON(doc []byte) []byte {
	text, err := yaml.YAMLToJSON(doc)
	if err != nil {
		panic(fmt.Sprintf("manifests: %v", err))
	}
	return oneLine(text)
}

// oneLine returns JSON on one line, with sorted keys.
func oneLine(text []byte) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(fmt.Sprintf("manifests: %v", err))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // shorter, and people may read it
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("manifests: %v", err))
	}
	return escapeForYAML(out.Bytes())
}

// escapeForYAML escapes the characters that JSON may have in its strings and YAML may not: YAML
// refuses them or reads them as the end of a line (sections 5.1 and 5.4 of YAML 1.1).
func escapeForYAML(text []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r >= 0x7f && r <= 0x9f, r == 0xfeff, r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}
