package certs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/yamltext"
)

// object holds the fields of a kubeconfig and of a Secret that say when they end.
type object struct {
	Kind  string `json:"kind"`
	Type  string `json:"type"`
	Users []struct {
		Name string `json:"name"`
		User struct {
			File   string `json:"client-certificate"`
			Data   string `json:"client-certificate-data"`
			Token  string `json:"token"`
			Tokens string `json:"tokenFile"`
		} `json:"user"`
	} `json:"users"`
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"`
}

const (
	tokenSecret = "bootstrap.kubernetes.io/token" // #nosec G101 -- a type of Secrets
	maxObject   = 1 << 20                         // bytes of a text that is read as YAML
	maxNesting  = 4                               // objects in strings of objects
)

// objects calls use for every kubeconfig and every Secret of a bootstrap token in a content,
// however it is packed.
func objects(content []byte, use func(o *object, in []string)) {
	for layer := range credential.Layers(content) {
		texts(layer.Content, maxNesting, func(o *object) { use(o, layer.Packing) })
	}
}

// interesting reports whether a text may have an object that objects looks for.
func interesting(text []byte) bool {
	return len(text) <= maxObject && bytes.Contains(text, []byte("kind")) &&
		(bytes.Contains(text, []byte("users")) && bytes.Contains(text, []byte("clusters")) ||
			bytes.Contains(text, []byte(tokenSecret)))
}

func texts(text []byte, depth int, use func(*object)) {
	if depth == 0 || !interesting(text) {
		return
	}
	for _, part := range yamltext.Split(text) {
		if !interesting(part) || yamltext.Object.Check(part) != nil {
			continue
		}
		data, err := yaml.YAMLToJSON(part)
		if err != nil {
			continue
		}
		var value any
		if json.Unmarshal(data, &value) == nil {
			values(value, depth, use)
		}
	}
}

// values looks at a value of YAML and at all values in it.
func values(value any, depth int, use func(*object)) {
	switch v := value.(type) {
	case string:
		texts([]byte(v), depth-1, use)
	case []any:
		for _, item := range v {
			values(item, depth, use)
		}
	case map[string]any:
		kind, _ := v["kind"].(string)
		_, users := v["users"]
		if kind == "Config" && users || kind == "Secret" && v["type"] == tokenSecret {
			var o object
			data, _ := json.Marshal(v)
			if json.Unmarshal(data, &o) == nil {
				use(&o)
				return
			}
		}
		for _, item := range v {
			values(item, depth, use)
		}
	}
}

// value returns a value of a Secret.
func (o *object) value(name string) string {
	if text, ok := o.StringData[name]; ok {
		return text
	}
	text, _ := base64.StdEncoding.DecodeString(o.Data[name])
	return string(text)
}

// tokenID returns the public half of a bootstrap token, or "" for another token.
func tokenID(token string) string {
	id, secret, ok := strings.Cut(token, ".")
	if !ok || len(id) != 6 || len(secret) != 16 {
		return ""
	}
	return id
}

// expiration returns the end of a token by its Secret; nil if it has none.
func (o *object) expiration() *time.Time {
	at, err := time.Parse(time.RFC3339, o.value("expiration"))
	if err != nil {
		return nil
	}
	return moment(at)
}
