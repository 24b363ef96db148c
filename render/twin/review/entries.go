package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/twin/change"
)

// nodeEntries returns everything that a machine has, in the order of an INDEX. The content of a
// file is left out if it is secret, or if other lines stand in its place.
func nodeEntries(n *node.Node) change.Entries {
	out := make(change.Entries, 0, 2*len(n.Files))
	add := func(kind, id string, traits map[string]string) *change.Entry {
		e := &change.Entry{Key: change.Key{Kind: kind, ID: id}, Traits: traits}
		out = append(out, e)
		return e
	}
	known := map[[3]string]map[string]string{}
	access := func(mode uint32, user, group string) map[string]string {
		key := [3]string{octal(mode), node.Owner(user), node.Owner(group)}
		if known[key] == nil {
			known[key] = map[string]string{"mode": key[0], "owner": key[1] + ":" + key[2]}
		}
		return known[key]
	}
	for _, u := range n.Users {
		add("user", u.Name, map[string]string{"number": strconv.Itoa(u.ID), "home": u.Home})
	}
	for _, d := range n.Dirs {
		add("dir", d.Path, access(d.Mode, d.User, d.Group))
	}
	for i := range n.Files {
		f := &n.Files[i]
		e := add("file", f.Path, access(f.Mode, f.User, f.Group))
		e.Secret, e.Shown = f.Secret, f.Shown
		if f.Secret == "" && len(f.Shown) == 0 {
			e.Content = readable(f)
			if e.Content == nil {
				e.Content = []byte{}
			}
		}
	}
	for _, l := range n.Links {
		add("link", l.Path, map[string]string{"target": l.Target})
	}
	for _, u := range n.Units {
		if state := unitState(u); state != "" { // a unit without a state is its file alone
			add("unit", u.Name, map[string]string{"state": state})
		}
	}
	for _, key := range n.AuthorizedKeys {
		add("key", key, nil)
	}
	for _, settings := range []struct {
		kind string
		text []byte
	}{
		{"network-config", n.NetworkConfig},
		{"ignition", indentJSON(n.Extra)},
		{"cloud-config", indentJSON(n.CloudConfig)},
	} {
		if len(settings.text) > 0 {
			text := strings.TrimSuffix(string(settings.text), "\n") + "\n"
			add(settings.kind, "", nil).Content = []byte(text)
		}
	}
	return out
}

// readable returns the content of a file as people read it: API objects are YAML for them, a line
// for each value, and JSON on the machine.
func readable(f *node.File) []byte {
	row := layout.FileAt(f.Path)
	if row == nil || row.Form != layout.Object || !json.Valid(f.Content) {
		return f.Content
	}
	object, err := yaml.JSONToYAML(f.Content)
	if err != nil {
		return f.Content
	}
	return object
}

// unitState returns "enabled", "masked" or both for a unit. It is empty if the document neither
// enables nor masks the unit.
func unitState(u node.Unit) string {
	var state []string
	if u.Enabled {
		state = append(state, "enabled")
	}
	if u.Masked {
		state = append(state, "masked")
	}
	return strings.Join(state, " ")
}

// octal returns a mode in the four digits that chmod takes.
func octal(mode uint32) string { return fmt.Sprintf("%04o", mode) }

// indentJSON returns JSON with a line for each value. It returns other text as it is.
func indentJSON(text []byte) []byte {
	var readable bytes.Buffer
	if len(text) == 0 || json.Indent(&readable, text, "", "  ") != nil {
		return text
	}
	return readable.Bytes()
}
