package secret

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/render/credential"
	"kiln/render/layout"
	"kiln/render/node"
	"kiln/render/plan"
)

// Redacted stands in the place of a secret.
const Redacted = "<secret>"

// IsConcealed says whether a file of a document, which does not tell, is taken for a secret: one that the table of secrets names by its path, an API
// object that is a Secret, what holds a credential wherever it lies, and everything that others may not read, unless it
// is one of kiln's own open files or nothing but certificates. So a secret of people's own is concealed if its mode protects it.
func IsConcealed(f *node.File) bool {
	switch {
	case credential.Holds(f.Content):
		return true
	case slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Path == f.Path }):
		return !isPublic(f.Content)
	case isOpen(f.Path):
		return false
	case path.Dir(f.Path)+"/" == plan.ObjectsDir:
		if len(f.Content) > maxObject {
			return true
		}
		objects, err := manifests.Read(f.Content)
		return err != nil || slices.ContainsFunc(objects, func(o manifests.Object) bool { return o.Secret })
	}
	return f.Mode&0o004 == 0 && !isPublic(f.Content)
}

// isOpen reports whether kiln makes a file at a path and shows its content to reviewers.
func isOpen(path string) bool {
	file := layout.Of(path)
	return file != nil && file.Open
}

// maxObject is how large an object is read: no API server takes a larger one.
const maxObject = 1 << 20

// isPublic says that a file holds certificates and public keys and nothing else.
func isPublic(content []byte) bool {
	var again []byte
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" && block.Type != "PUBLIC KEY" || len(block.Headers) > 0 {
			return false
		}
		again = append(again, pem.EncodeToMemory(block)...)
	}
	return len(again) > 0 && bytes.Equal(again, content)
}

// secretField matches the fields of cloud-init's network configuration and meta-data, and of Ignition's config, below which secrets stand.
var secretField = regexp.MustCompile(`(?i)password|passwd.|pass(phrase)?$|psk|secret|token|private|shared|keyfile|^key$|^httpheaders$|^clevis$`)

// Redact returns settings in YAML or JSON with what may be a secret redacted; the same text if there is none.
func Redact(text []byte) []byte {
	var settings any
	if yaml.Unmarshal(text, &settings) != nil {
		return []byte(Redacted)
	}
	found := false
	settings = redact(settings, false, &found)
	if !found {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(settings) != nil {
		return []byte(Redacted)
	}
	if json.Valid(text) {
		return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	}
	readable, err := yaml.JSONToYAML(out.Bytes())
	if err != nil {
		return []byte(Redacted)
	}
	return readable
}

// redact returns settings without the values below fields with secrets, without the contents of data URLs, and without the user in other URLs.
func redact(settings any, secret bool, found *bool) any {
	switch v := settings.(type) {
	case map[string]any:
		for key := range v {
			v[key] = redact(v[key], secret || secretField.MatchString(key), found)
		}
		return v
	case []any:
		for i := range v {
			v[i] = redact(v[i], secret, found)
		}
		return v
	case string:
		if !secret && !strings.HasPrefix(v, "data:") && !userInURL.MatchString(v) && !credential.Holds([]byte(v)) {
			return v
		}
	case nil:
		return nil
	default:
		if !secret {
			return v
		}
	}
	*found = true
	return Redacted
}

var userInURL = regexp.MustCompile(`//[^/@\s]+@`)
