// This file lists an unpacked machine for people: as the lines of an INDEX, and as a tree.

package review

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// List lists the machine as INDEX does in the review twin.
func (u *Unpacked) List() []byte {
	var b bytes.Buffer
	for _, e := range u.entries() {
		b.WriteString(entryLines(e))
	}
	return b.Bytes()
}

// Tree is List with directories, files and links as a tree.
func (u *Unpacked) Tree() []byte {
	var tree change.Entries
	var before, after bytes.Buffer
	for _, e := range u.entries() {
		switch {
		case e.Kind == "dir" || e.Kind == "file" || e.Kind == "link":
			tree = append(tree, e)
		case len(tree) == 0:
			before.WriteString(entryLines(e))
		default:
			after.WriteString(entryLines(e))
		}
	}
	// Paths are compared part by part: otherwise /etc/a-b would stand between /etc/a and /etc/a/b.
	slices.SortStableFunc(tree, func(a, b *change.Entry) int {
		return slices.Compare(strings.Split(a.ID, "/"), strings.Split(b.ID, "/"))
	})
	var above []string
	for _, e := range tree {
		parts := strings.Split(strings.TrimPrefix(e.ID, "/"), "/")
		for i := range parts[:len(parts)-1] {
			if i >= len(above) || !slices.Equal(parts[:i+1], above[:i+1]) {
				fmt.Fprintf(&before, "%s%s/\n", strings.Repeat("  ", i), parts[i])
			}
		}
		above = parts
		writeBranch(&before, e, parts)
	}
	return slices.Concat(before.Bytes(), after.Bytes())
}

// writeBranch writes one entry of a tree: its name, what is known of it, and its lines below.
func writeBranch(b *bytes.Buffer, e *change.Entry, parts []string) {
	indent, name := strings.Repeat("  ", len(parts)-1), parts[len(parts)-1]
	if e.Kind == "dir" {
		name += "/"
	}
	// The line of an INDEX begins with the kind in four columns. The path stands behind mode and
	// owner, and in a link before the target. The tree has the name in front instead.
	line, below, _ := strings.Cut(entryLines(e), "\n")
	fmt.Fprintf(b, "%s%s%s\n", indent, name, strings.Replace(line[4:], " "+e.ID, "", 1))
	for text := range strings.Lines(below) {
		b.WriteString(indent + text)
	}
}

// entries returns what may be shown of the machine, in the order of an INDEX. Files have no
// content here, but a line for each certificate. Names that would move a terminal's cursor, or look
// like a line of their own, are made harmless.
func (u *Unpacked) entries() change.Entries {
	n := *u.node
	n.Users, n.Dirs, n.Files = slices.Clone(n.Users), slices.Clone(n.Dirs), slices.Clone(n.Files)
	n.Links, n.Units = slices.Clone(n.Links), slices.Clone(n.Units)
	n.AuthorizedKeys = slices.Clone(n.AuthorizedKeys)
	for i := range n.Users {
		escape(&n.Users[i].Name, &n.Users[i].Home)
	}
	for i := range n.Dirs {
		escape(&n.Dirs[i].Path, &n.Dirs[i].User, &n.Dirs[i].Group)
	}
	for i := range n.Files {
		f := &n.Files[i]
		escape(&f.Path, &f.User, &f.Group)
		f.Shown = append(f.Shown, certificateLines(f.Content)...)
		f.Content = nil
	}
	for i := range n.Links {
		n.Links[i].Target = u.text(n.Links[i].Target)
		escape(&n.Links[i].Path, &n.Links[i].Target)
	}
	for i := range n.Units {
		escape(&n.Units[i].Name)
	}
	for i := range n.AuthorizedKeys {
		n.AuthorizedKeys[i] = u.text(n.AuthorizedKeys[i])
		escape(&n.AuthorizedKeys[i])
	}
	n.NetworkConfig = u.visibleSettings(n.NetworkConfig)
	n.Extra = u.visibleSettings(n.Extra)
	n.CloudConfig = u.visibleSettings(n.CloudConfig)
	list := nodeEntries(&n)
	if len(u.metaData) > 0 {
		list = append(list, &change.Entry{
			Key: change.Key{Kind: "meta-data"}, Content: u.visibleSettings(u.metaData),
		})
	}
	return list
}

// escape makes strings harmless for a terminal.
func escape(list ...*string) {
	for _, s := range list {
		*s = wording.Visible(*s, "")
	}
}

// visibleSettings returns settings without their secrets and harmless for a terminal.
func (u *Unpacked) visibleSettings(text []byte) []byte {
	return []byte(wording.Visible(string(u.settings(text)), "\n\t"))
}
