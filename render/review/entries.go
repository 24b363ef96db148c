package review

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kiln/render/node"
)

// indexKinds are the kinds of lines in an INDEX, in its order.
var indexKinds = []string{"user", "dir", "file", "link", "unit", "key", "network-config", "ignition", "cloud-config"}

// entry is one thing that a machine has.
type entry struct {
	kind string // one of indexKinds
	id   string // what no two things of a kind on one machine have in common: a path, a name
	text string // the lines in INDEX
	file *node.File
}

// compare puts entries into the order of an INDEX.
func (e *entry) compare(other *entry) int {
	return cmp.Or(cmp.Compare(slices.Index(indexKinds, e.kind), slices.Index(indexKinds, other.kind)), cmp.Compare(e.id, other.id))
}

// entries returns everything that a machine has, in the order of its INDEX.
func entries(n *node.Node) (out []entry) {
	add := func(kind, id, format string, args ...any) {
		out = append(out, entry{kind: kind, id: id, text: fmt.Sprintf("%-4s", kind) + fmt.Sprintf(format, args...) + "\n"})
	}
	for _, u := range n.Users {
		add("user", u.Name, " %s %d %s", u.Name, u.ID, u.Home)
	}
	for _, d := range n.Dirs {
		add("dir", d.Path, " %04o %s:%s %s", d.Mode, node.Owner(d.User), node.Owner(d.Group), d.Path)
	}
	for i, f := range n.Files {
		add("file", f.Path, " %04o %s:%s %s", f.Mode, node.Owner(f.User), node.Owner(f.Group), f.Path)
		out[len(out)-1].file = &n.Files[i]
	}
	for _, l := range n.Links {
		add("link", l.Path, " %s -> %s", l.Path, l.Target)
	}
	for _, u := range n.Units {
		var state []string
		if u.Enabled {
			state = append(state, "enabled")
		}
		if u.Masked {
			state = append(state, "masked")
		}
		if len(state) == 0 {
			continue // its file is all that there is
		}
		add("unit", u.Name, " %s %s", u.Name, strings.Join(state, " "))
	}
	for _, key := range n.AuthorizedKeys {
		add("key", key, " %s", key)
	}
	if len(n.NetworkConfig) > 0 {
		add("network-config", "", "%s", "\n"+indented(string(n.NetworkConfig)))
	}
	for _, own := range []struct {
		kind string
		text json.RawMessage
	}{{"ignition", n.Extra}, {"cloud-config", n.CloudConfig}} {
		if len(own.text) == 0 {
			continue
		}
		var readable bytes.Buffer
		if err := json.Indent(&readable, own.text, "", "  "); err != nil {
			readable.Reset()
			readable.Write(own.text)
		}
		add(own.kind, "", "%s", "\n"+indented(readable.String()))
	}
	return out
}

// indented sets lines below the line that they belong to. The last has no end.
func indented(text string) string {
	return "     " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n     ")
}
