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

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/yamltext"
)

// Redacted is shown in the place of a secret.
const Redacted = "<secret>"

// IsConcealed reports whether a file of a finished document is treated as a secret. The document
// does not say which files are secrets, so these are concealed:
//   - a content that holds a credential, wherever it lies;
//   - a path that the table of secrets names;
//   - an API object that is a Secret, or that cannot be read;
//   - any other file that others may not read on the machine. So a secret of the user's is
//     concealed if its mode protects it.
//
// The last two rules do not apply to files that are open in the table of files. A file that holds
// nothing but certificates and public keys is never concealed.
func IsConcealed(f *node.File) bool {
	isKindPath := func(k Kind) bool { return k.Path == f.Path }
	switch {
	case credential.Holds(f.Content):
		return true
	case slices.ContainsFunc(Kinds, isKindPath):
		return !isPublic(f.Content)
	case isOpen(f.Path):
		return false
	case path.Dir(f.Path)+"/" == plan.ObjectsDir:
		return holdsSecretObject(f.Content)
	}
	return f.Mode&0o004 == 0 && !isPublic(f.Content)
}

// AssignsSecret reports whether a file that kiln does not show to everybody gives a value to a name
// like PASSWORD, as a drop-in or a kernel's command line may. Others may read such a file on the
// machine, so it decides nothing about a document; unpack conceals it all the same.
func AssignsSecret(f *node.File) bool { return !isOpen(f.Path) && assigns(f.Content) }

// isOpen reports whether kiln makes a file at a path and shows its content to reviewers.
func isOpen(path string) bool {
	file := layout.FileAt(path)
	return file != nil && file.Open
}

// holdsSecretObject reports whether a content has an API object that is a Secret. It also reports
// true if the content cannot be read, or is larger than any API server accepts.
func holdsSecretObject(content []byte) bool {
	const limit = 1 << 20
	if len(content) > limit {
		return true
	}
	objects, err := manifests.Read(content)
	isSecret := func(o manifests.Object) bool { return o.Secret }
	return err != nil || slices.ContainsFunc(objects, isSecret)
}

// isPublic reports whether a content is certificates and public keys in PEM, and nothing else.
func isPublic(content []byte) bool {
	var encoded []byte
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" && block.Type != "PUBLIC KEY" || len(block.Headers) > 0 {
			return false
		}
		encoded = append(encoded, pem.EncodeToMemory(block)...)
	}
	return len(encoded) > 0 && bytes.Equal(encoded, content)
}

// Redact returns settings in YAML or JSON without the values that may be secrets. It returns data
// unchanged if there are none, and nothing but Redacted if data cannot be read.
func Redact(data []byte) []byte {
	var settings any
	if yamltext.Object.Check(data) != nil || yaml.Unmarshal(data, &settings) != nil {
		return []byte(Redacted)
	}
	found := false
	settings = redact(settings, false, &found)
	if !found {
		return data
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(settings) != nil {
		return []byte(Redacted)
	}
	if json.Valid(data) {
		return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	}
	readable, err := yaml.JSONToYAML(out.Bytes())
	if err != nil {
		return []byte(Redacted)
	}
	return readable
}

// RedactString returns a string, or Redacted if it may hold a secret: a data URL, a URL with a
// user, a credential, or a value of a name that suggests a secret.
func RedactString(s string) string {
	if strings.HasPrefix(s, "data:") || userInURL.MatchString(s) || credential.Holds([]byte(s)) ||
		assigns([]byte(s)) {
		return Redacted
	}
	return s
}

// redact replaces strings in settings: everything below a field whose name suggests a secret, and
// what RedactString replaces. secret tells whether settings lie below such a field.
// found is set to true if anything is replaced.
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
		if !secret && RedactString(v) == v {
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

// secretField matches the names of fields below which secrets lie: in cloud-init's network
// configuration and meta-data, and in Ignition's configuration.
var secretField = regexp.MustCompile(`(?i)password|passwd.|pass(phrase)?$|psk|secret|token|` +
	`private|shared|keyfile|^key$|^httpheaders$|^clevis$`)

// userInURL matches the user, and the password if there is one, in a URL.
var userInURL = regexp.MustCompile(`//[^/@\s]+@`)
