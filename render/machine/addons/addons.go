// Package addons reads the add-ons of a configuration, files and kustomize folders, and finds what
// the objects of all of them together cannot be.
package addons

import (
	"errors"
	"fmt"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Addon is an add-on that was read.
type Addon struct {
	Stream  []byte             // its documents, without lists
	Objects []manifests.Object // in the order of the documents

	field, path string
	folder      bool
	text        []byte              // of the file
	docs        []yamltext.Document // of Objects, in the text, after the first problem
}

// Read reads the add-on at a path, which a field of the configuration names. A file is taken
// as it is, and a folder as kustomize builds it.
func Read(c *config.Cluster, field, path string) (a *Addon, problems config.Problems) {
	a, err := read(c, field, path)
	if err != nil {
		for _, err := range wording.SplitErrors(err) {
			problems = append(problems, c.Problemf(field, "%s", err))
		}
	}
	return a, problems
}

// read does what Read does. Each line of the error names the add-on.
func read(c *config.Cluster, field, path string) (*Addon, error) {
	a := &Addon{field: field, path: path, Stream: c.Text(path)}
	if folder := c.Folder(path); folder != nil {
		var err error
		hides := func(value string) bool { return credential.Holds([]byte(value)) }
		if a.Stream, err = patches.Build(path, folder, hides); err != nil {
			return nil, err
		}
		a.folder = true
	}
	if err := yamltext.Addon.Check(a.Stream); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	var err error
	if a.Objects, err = manifests.Read(a.Stream); err != nil {
		return nil, a.mistakes(err)
	}
	a.text, a.Stream = a.Stream, manifests.Unpack(a.Stream)
	if a.folder && len(a.Objects) == 0 {
		return nil, fmt.Errorf("%s: kustomize builds no object from it; "+
			"name the files with objects under resources in its kustomization, "+
			"or remove the add-on", path)
	}
	return a, nil
}

// mistakes returns the error of manifests.Read with places in the file. A folder has none, since
// kustomize wrote the stream.
func (a *Addon) mistakes(err error) error {
	var all []error
	for _, err := range wording.SplitErrors(err) {
		m, ok := errors.AsType[*manifests.Mistake](err)
		switch {
		case !ok:
			all = append(all, fmt.Errorf("%s: %w", a.path, err))
		case a.folder:
			all = append(all, fmt.Errorf("%s: %s", a.path, m.Message))
		case m.Syntax:
			f, found := yamltext.Template(a.Stream)
			if !found {
				f, found = yamltext.FindFault(a.Stream, nil)
			}
			if !found {
				f = yamltext.Fault{Line: m.Line, Column: 1, Message: m.Message}
			}
			all = append(all, fmt.Errorf("%s:%d:%d: %s", a.path, f.Line, f.Column, f.Message))
		default:
			all = append(all, fmt.Errorf("%s:%d:1: %s", a.path, m.Line, m.Message))
		}
	}
	return errors.Join(all...)
}

// problem returns a problem of the i-th object, at the line of the value at a path in it. The
// objects of a folder have no lines.
func (a *Addon) problem(
	c *config.Cluster, i int, path, format string, args ...any,
) config.Problem {
	p := c.Problemf(a.field, format, args...)
	if a.folder {
		return p
	}
	if a.docs == nil { // once: each object may have problems
		a.docs = yamltext.Unpack(yamltext.Documents(a.text))
	}
	docs := a.docs
	if len(docs) != len(a.Objects) {
		return p
	}
	p.File = a.path
	p.Line, p.Column, _ = docs[i].Position(docs[i].Nearest(path))
	return p
}

// Field returns the field of the configuration that names the i-th add-on.
func Field(i int) string { return fmt.Sprintf("addons[%d].path", i) }
