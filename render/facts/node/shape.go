package node

import (
	"slices"
	"strconv"
)

// Shape returns all of n that a document depends on, except for the contents of files, its files in
// that order: for equal shapes documents differ in contents alone. Names of secrets are not part of
// it, but whether a file is one.
func (n *Node) Shape(files []File) (shape []byte) {
	shape = make([]byte, 0, 100*len(files))
	// Each word has its length before it, and each list the number of its words.
	list := func(words ...string) {
		shape = append(strconv.AppendInt(shape, int64(len(words)), 10), '#')
		for _, word := range words {
			shape = append(strconv.AppendInt(shape, int64(len(word)), 10), ':')
			shape = append(shape, word...)
		}
	}
	for _, u := range n.Users {
		list("user", u.Name, strconv.Itoa(u.ID), u.Home)
	}
	for _, d := range n.Dirs {
		list("dir", d.Path, strconv.FormatUint(uint64(d.Mode), 8), d.User, d.Group)
	}
	for i := range files {
		f := &files[i]
		list("file", f.Path, strconv.FormatUint(uint64(f.Mode), 8), f.User, f.Group,
			strconv.FormatBool(f.Secret != ""))
	}
	for _, l := range n.Links {
		list("link", l.Path, l.Target)
	}
	for _, u := range n.Units {
		list("unit", u.Name, strconv.FormatBool(u.Enabled), strconv.FormatBool(u.Started),
			strconv.FormatBool(u.Masked))
	}
	list(slices.Concat([]string{"login", n.Login}, n.AuthorizedKeys)...)
	list("extra", string(n.Extra), string(n.CloudConfig))
	if r := n.Remote; r != nil {
		list("remote", r.URL, r.SHA512, strconv.Itoa(r.Bytes), string(r.CA),
			strconv.FormatBool(r.Whole), strconv.FormatBool(r.Named))
	}
	return shape
}
