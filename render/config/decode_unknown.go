package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

const (
	maxOwners      = 3  // the most fields that a message names as owners of a key
	maxFieldsNamed = 12 // the most fields of a map that a message lists
	fewFields      = 4  // the most that it lists beside another hint
)

var secretKey = regexp.MustCompile(
	`(?i)passw|token|secret|privatekey|cakey|encryptionkey|certificatekey`)

// reportUnknown reports an unknown key of the map n, with the best guess at what was meant.
func (d decoder) reportUnknown(
	n, key, value *yaml.Node, t reflect.Type, at *yamltext.Location,
) {
	if len(d.found) > maxProblems {
		// No message shows this problem any more, and the guess takes time.
		d.breakAt(key, at, "unknown field")
		return
	}
	known := structs[t]
	if field, missing := splitKey(key.Value, known); field != "" {
		d.breakAt(key, at.Parent().Key(field), `%s; write "%s: " before the value`, missing, field)
		return
	}
	names, hint := keysOf(t), ""
	near := wording.Nearest(key.Value, names)
	want, line := yaml.Kind(0), 0
	if near != "" {
		want, line = kindOf(t.FieldByIndex(known.byName[near].index).Type), lineOf(n, near)
	}
	if want == yaml.MappingNode && value.Kind != want {
		near, names = "", nil // it has nothing to do with that field
	}
	owners := ownersOf(key.Value)
	switch {
	case retired[t][key.Value] != "":
		hint = retired[t][key.Value]
	case near != "" && line != 0:
		hint = fmt.Sprintf("%s stands on line %d; write there what belongs to it", near, line)
	case near != "" && want == yaml.SequenceNode && value.Kind == yaml.ScalarNode:
		hint = fmt.Sprintf("did you mean %q? It is a list, in brackets", near)
	case near != "" && strings.EqualFold(near, key.Value):
		hint = fmt.Sprintf("did you mean %q? Upper and lower case matter", near)
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case len(owners) > 0:
		hint = "it belongs to " + strings.Join(owners, " or ")
		if len(names) <= fewFields {
			hint += "; the fields here are " + strings.Join(names, ", ")
		}
	case secretKey.MatchString(key.Value):
		hint = "secrets belong in the bundle, never in cluster.yaml"
	case names != nil && len(names) <= maxFieldsNamed:
		hint = "the fields here are " + strings.Join(names, ", ")
	default:
		hint = "`kiln explain` lists the fields"
		meant := wording.Nearest(key.Value, slices.Sorted(slices.Values(fieldNames())))
		if owners := ownersOf(meant); names != nil && len(owners) > 0 {
			hint = fmt.Sprintf("did you mean %q? It belongs to %s",
				meant, strings.Join(owners, " or "))
		}
	}
	if near != "" {
		// The right key is known, so a second message that it is missing would not help.
		d.hide(at.Parent().Key(near).String())
	}
	d.breakAt(key, at, "unknown field; %s", hint)
}

func kindOf(t reflect.Type) yaml.Kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return yaml.MappingNode
	case reflect.Slice:
		return yaml.SequenceNode
	}
	return yaml.ScalarNode
}

func lineOf(n *yaml.Node, name string) int {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i].Line
		}
	}
	return 0
}

// ownersOf returns the fields that have a key of that name, nil if they are many. The settings of
// machines count as one field.
func ownersOf(name string) []string {
	var owners []string
	if structs[machineType].byName[name] != nil {
		owners = append(owners, "machines, a node or a pool")
	}
	walkFields(func(path string, f *field) {
		parent, last, ok := cutLast(path)
		if ok && last == name && f.machine < 0 && !strings.Contains(parent, "machines") {
			owners = append(owners, parent)
		}
	})
	if len(owners) > maxOwners {
		return nil
	}
	return slices.Compact(owners)
}

// walkFields calls visit for every field of cluster.yaml, by paths without indices and "spec.".
func walkFields(visit func(path string, f *field)) {
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		t = elem(t)
		if structs[t] == nil {
			return
		}
		for i := range structs[t].list {
			f := &structs[t].list[i]
			path := strings.TrimPrefix(prefix+"."+f.name, ".")
			if path == "spec" {
				path = ""
			}
			visit(path, f)
			walk(t.FieldByIndex(f.index).Type, path)
		}
	}
	walk(reflect.TypeFor[Cluster](), "")
}

// fieldNames returns the names of all fields of cluster.yaml. A name may occur more than once.
func fieldNames() (names []string) {
	for _, fields := range structs {
		for i := range fields.list {
			names = append(names, fields.list[i].name)
		}
	}
	return names
}

// joinedKey matches a key with its value in it: the colon or the space is missing. A URL is none.
var joinedKey = regexp.MustCompile(`^(\w+)(:| )[^ /]`)

// splitKey returns the field with which such a key begins, and what is missing behind it.
func splitKey(key string, known *fieldList) (field, missing string) {
	m := joinedKey.FindStringSubmatch(key)
	if m == nil || known.byName[m[1]] == nil {
		return "", ""
	}
	if strings.HasPrefix(key, m[1]+":\u00a0") {
		return m[1], "the space behind the colon is a no-break space (U+00A0)"
	}
	if m[2] == ":" {
		return m[1], "the space behind the colon is missing"
	}
	return m[1], "the colon is missing"
}

// fieldOfValue returns how a struct is written in braces with a value for which only one of its
// fields can be meant, "" if there is no such field: a value that the field lists, or a URL whose
// scheme it is named after. A URL may hold a password, so the field's own example stands there.
func fieldOfValue(value string, known *fieldList) string {
	scheme, _, isURL := strings.Cut(value, "://")
	for i := range known.list {
		f := &known.list[i]
		switch {
		case slices.Contains(f.enum, value):
			return "{" + f.name + ": " + value + "}"
		case isURL && f.name == scheme && f.example != "":
			return "{" + f.name + ": " + f.example + "}"
		}
	}
	return ""
}

// exampleOf returns a struct in braces: its required fields, and a field that names a file.
func exampleOf(known *fieldList) string {
	var fields string
	for i := range known.list {
		f := &known.list[i]
		value := f.example
		if len(f.enum) > 0 {
			value = f.enum[0]
		}
		if f.name == "patchFrom" || f.name == "contentFrom" {
			value = "FILE"
		} else if !f.required {
			continue
		}
		if fields != "" {
			fields += ", "
		}
		fields += fmt.Sprintf("%s: %s", f.name, value)
	}
	if fields == "" {
		return ""
	}
	return "{" + fields + "}"
}

// retired holds fields that earlier versions had, or that other programs have, by the map in which
// people write them, and what to do without them.
var retired = map[reflect.Type]map[string]string{
	reflect.TypeFor[Network](): {
		"mtu":   "write flannel.mtu, the MTU of the network between the machines",
		"vxlan": "write flannel.backend, and flannel.directRouting for vxlan: auto",
	},
	reflect.TypeFor[Registry](): {
		"auth": noLogin, "auths": noLogin, "password": noLogin, "insecure": anyServer,
		"insecureSkipVerify": anyServer, "plainHTTP": plainHTTP, "skipTLSVerify": anyServer,
	},
	reflect.TypeFor[Updates](): {"start": noWindow, "length": noWindow},
	reflect.TypeFor[Machine](): {"identity": noIdentity, "users": noUsers},
	reflect.TypeFor[Node]():    {"identity": noIdentity, "podCIDRs": noPodCIDRs, "users": noUsers},
	reflect.TypeFor[Pool]():    {"identity": noIdentity, "podCIDRs": noPodCIDRs, "users": noUsers},
	reflect.TypeFor[Patch]():   {"path": "write patchFrom to name a file, or patch with its text"},
	reflect.TypeFor[Addon]():   {"helm": noHelm, "chart": noHelm, "repo": noHelm},
}

const noUsers = "write users in cloudConfig or, on systems with Ignition, passwd.users in " +
	"butane; docs/disks-and-users.md shows both"

const noHelm = "kiln runs no Helm; write the output of helm template into a file, and name that " +
	"with path"

const noLogin = "write username, and passwordFrom with a file that has the password alone"

const anyServer = "write caFrom with the CA or the certificate of the server; ca: none trusts " +
	"any server"

const plainHTTP = "write the URL of the server with http:// into mirrors"

const noWindow = "remove it; write policy: none, and replace machines by newer images, or set " +
	"the window of the system's own updater with files"

const noPodCIDRs = "remove it; the controller-manager gives each Node its part of " +
	"network.podSubnets"

const noIdentity = "remove it; a machine with a name has certificates, and for machines that " +
	"join with a token write a pool"
