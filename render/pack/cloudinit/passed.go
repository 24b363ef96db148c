package cloudinit

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Passed are the keys of user-data that a node.Node's CloudConfig may have: those for disks and for
// users who log in. None of them affects what Pack writes itself.
var Passed = []string{"disk_setup", "fs_setup", "groups", "growpart", "mount_default_fields",
	"mounts", "resize_rootfs", "users"}

// usersKey is in a document for the keys of Login, or as a key that is passed on.
const usersKey = "users"

// readPassed returns the values of keys that are passed on. JSON is YAML in flow style with quoted
// strings, which every version of YAML reads the same way.
func readPassed(doc json.RawMessage) (map[string]yaml.Node, error) {
	if len(doc) == 0 {
		return nil, nil
	}
	if !json.Valid(doc) {
		return nil, fmt.Errorf("keys of user-data: not JSON")
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal(doc, &values); err != nil {
		return nil, fmt.Errorf("keys of user-data: %w", withoutValues(err))
	}
	for key := range values {
		if !slices.Contains(Passed, key) {
			return nil, fmt.Errorf("key of user-data %q: is not passed on", key)
		}
	}
	return values, nil
}

// maxIndentation is how many spaces the keys that are passed on may need if each of their values
// stands on a line of its own, as people and reviewers see them. A few kilobytes of brackets would
// need gigabytes. Keys for a hundred disks and users need some 100 KiB.
const maxIndentation = 4 << 20

// indentation returns the number of spaces before the values of a JSON document if each stands on
// a line of its own, with two spaces for each level.
func indentation(doc []byte) (spaces int) {
	inString, level := false, 0
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++ // the next character ends no string
		case inString:
		case c == '[' || c == '{':
			level++
			spaces += 2 * level
		case c == ']' || c == '}':
			level--
			spaces += 2 * level
		case c == ',':
			spaces += 2 * level
		}
	}
	return spaces
}

// writePassed is the inverse of readPassed. It fails for a key that is not passed on, for values
// that JSON does not have, and if the values are nested too deeply to be shown.
func writePassed(values map[string]yaml.Node) (json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	plain := map[string]any{}
	for key, value := range values {
		if !slices.Contains(Passed, key) {
			return nil, fmt.Errorf("line %d: field %s not found", value.Line, key)
		}
		var v any
		err := value.Decode(&v)
		if err == nil {
			_, err = json.Marshal(v)
		}
		if err != nil { // the error quotes the value, which may be a secret
			return nil, fmt.Errorf("line %d: a key or value that JSON does not have", value.Line)
		}
		plain[key] = v
	}
	doc, err := json.Marshal(plain)
	if indentation(doc) > maxIndentation {
		return nil, fmt.Errorf("the keys besides kiln's own are nested too deeply: "+
			"they would need more than %d MiB of indentation", maxIndentation>>20)
	}
	return doc, err
}

// loginOf returns the user and keys of users in the form in which Pack writes them for Login: the
// default user, and one other user with a name and keys.
func loginOf(users *yaml.Node) (l login, ok bool) {
	if users.Kind != yaml.SequenceNode || len(users.Content) != 2 ||
		users.Content[0].Kind != yaml.ScalarNode || users.Content[0].Value != defaultLogin {
		return l, false
	}
	entry := users.Content[1]
	if entry.Kind != yaml.MappingNode || len(entry.Content) != 4 ||
		entry.Content[0].Value != "name" || entry.Content[2].Value != "ssh_authorized_keys" {
		return l, false
	}
	return l, entry.Decode(&l) == nil && len(l.AuthorizedKeys) > 0
}
