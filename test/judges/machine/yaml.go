package machine

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// parsed caches the results of Read by type and content: many judges look at the same files of many
// machines.
var parsed sync.Map

// Read returns the value that a YAML file holds, as far as it can be parsed. Callers must not
// change the value. Errors in the file are for the judges of objects and configurations.
func Read[T any](f *File) (out T) {
	if f == nil {
		return out
	}
	key := struct {
		as      reflect.Type
		content string
	}{reflect.TypeFor[T](), string(f.Content)}
	if known, ok := parsed.Load(key); ok {
		return known.(T)
	}
	_ = yaml.Unmarshal(f.Content, &out)
	parsed.Store(key, out)
	return out
}

// Field returns the field of a YAML document at a path such as authentication.anonymous.enabled.
// The elements of a list are joined with commas. An empty value counts as absent.
func Field(document []byte, at string) (string, bool) {
	var node any
	if yaml.Unmarshal(document, &node) != nil {
		return "", false
	}
	for name := range strings.SplitSeq(at, ".") {
		fields, _ := node.(map[string]any)
		node = fields[name]
	}
	switch node := node.(type) {
	case nil:
		return "", false
	case string:
		return node, node != ""
	case []any:
		var words []string
		for _, word := range node {
			words = append(words, fmt.Sprint(word))
		}
		return strings.Join(words, ","), true
	default:
		return fmt.Sprint(node), true
	}
}
