package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"kiln/render/change"
	"kiln/render/node"
)

// entriesOf returns everything that a machine has, in the order of an INDEX. The content of a file is
// left out if it is secret, or if other lines stand in its place.
func entriesOf(n *node.Node) (out change.Entries) {
	add := func(kind, id string, traits map[string]string) *change.Entry {
		e := &change.Entry{Key: change.Key{Kind: kind, ID: id}, Traits: traits}
		out = append(out, e)
		return e
	}
	access := func(mode uint32, user, group string) map[string]string {
		return map[string]string{"mode": octal(mode), "owner": node.Owner(user) + ":" + node.Owner(group)}
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
			e.Content = f.Content
			if e.Content == nil {
				e.Content = []byte{}
			}
		}
	}
	for _, l := range n.Links {
		add("link", l.Path, map[string]string{"target": l.Target})
	}
	for _, u := range n.Units {
		if state := unitState(u); state != "" { // else its file is all that there is
			add("unit", u.Name, map[string]string{"state": state})
		}
	}
	for _, key := range n.AuthorizedKeys {
		add("key", key, nil)
	}
	for _, settings := range []struct {
		kind string
		text []byte
	}{{"network-config", n.NetworkConfig}, {"ignition", indentJSON(n.Extra)}, {"cloud-config", indentJSON(n.CloudConfig)}} {
		if len(settings.text) > 0 {
			add(settings.kind, "", nil).Content = []byte(strings.TrimSuffix(string(settings.text), "\n") + "\n")
		}
	}
	return out
}

// unitState says whether a unit is enabled or masked; it is empty if the document does neither.
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

func octal(mode uint32) string { return fmt.Sprintf("%04o", mode) }

// indentJSON returns a JSON text with a line for each value, or the same text if it is no JSON.
func indentJSON(text []byte) []byte {
	var readable bytes.Buffer
	if len(text) == 0 || json.Indent(&readable, text, "", "  ") != nil {
		return text
	}
	return readable.Bytes()
}
