package config

import (
	"bytes"
	"io/fs"
	"reflect"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Parse turns the bytes of a cluster.yaml into a Cluster that is defaulted and valid, or returns Problems: everything
// that is wrong with the file, in file order. name is what messages call the file. dir is the folder that the
// file lies in, from which the files that it names are read; nil means that it may name none. Everything else that Parse
// needs stands in its arguments.
//
// The Cluster must not be changed afterwards: its machines share what they have in common.
func Parse(name string, data []byte, dir fs.FS) (*Cluster, error) {
	return parse(name, data, dir, false)
}

// ParsePublic is Parse where the secrets are not: of the files that cluster.yaml names, those that hold a secret (the sources of files and
// scripts marked secret, the key of an external etcd) may be missing. Text returns nil for them.
func ParsePublic(name string, data []byte, dir fs.FS) (*Cluster, error) {
	return parse(name, data, dir, true)
}

func parse(name string, data []byte, dir fs.FS, public bool) (*Cluster, error) {
	r := &reporter{file: name}
	if problem := mistaken(data); problem != "" {
		r.add(0, 0, "", problem)
		return nil, r.problems()
	}
	root := readDocument(data, r)
	if root == nil {
		return nil, r.problems()
	}
	r.root = root
	c := &Cluster{source: &source{name: name, root: root}}
	at, _ := top()
	d := decoder{reporter: r}
	if lostTag.Match(data) {
		d.lines = bytes.Split(bytes.TrimPrefix(data, []byte(byteOrderMark)), []byte("\n"))
	}
	if !isOurs(root, d, at) {
		return nil, r.problems()
	}
	d.value(root, reflect.ValueOf(c).Elem(), nil, at)
	setDefaults(c)
	load(c, dir, public, r)
	c.roles = newRoleLayers(c)
	validate(c, r)
	if found := r.problems(); found != nil {
		return nil, found
	}
	return c, nil
}

// lostTag matches what may be the tag "!" in front of a value.
var lostTag = regexp.MustCompile(`(?m)[:\[{,-][ \t]+![ \t\r\n]`)

// isOurs reports a document of another program or of a newer release, of which nothing else is worth saying.
func isOurs(root *yaml.Node, d decoder, at *where) bool {
	before := len(d.found)
	fields := structs[reflect.TypeFor[Cluster]()]
	for _, key := range []string{"apiVersion", "kind"} {
		here := at.key(key)
		if n, _ := find(root, here); n != nil && n.Kind == yaml.ScalarNode {
			if text, ok := d.string(n, here); ok {
				d.allowed(n, text, fields.byName[key], here)
			}
		}
	}
	return len(d.found) == before
}
