package main

import (
	"errors"
	"fmt"
	"iter"

	"kiln/cmd/kiln/paths"
	"kiln/render"
	"kiln/render/media"
	"kiln/render/plan"
)

// named finds what names mean, in their order and each once: folders of machines, or whole output folders. All are of one output folder, which
// it returns as well.
func named(names []string) (dir string, entries []render.Entry, err error) {
	var errs []error
	seen := map[string]bool{}
	for _, name := range names {
		at, _, found, err := render.Rendered(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if dir == "" {
			dir = at
		} else if paths.Absolute(dir) != paths.Absolute(at) {
			return "", nil, usageError{fmt.Errorf("%s and %s: machines of two renderings; call kiln once for each", dir, at)}
		}
		for i := range found {
			if !seen[found[i].Document] {
				seen[found[i].Document] = true
				entries = append(entries, found[i])
			}
		}
	}
	return dir, entries, errors.Join(errs...)
}

// delivered reads machines of an output folder, one after the other.
func delivered(dir string, entries []render.Entry) iter.Seq2[*media.Machine, error] {
	return func(yield func(*media.Machine, error) bool) {
		for d, err := range render.Deliveries(dir, entries) {
			e := &d.Entry
			m := &media.Machine{Name: e.Node, Dir: d.Dir, Pool: e.Pool, OS: e.OS, Platform: e.Platform, Ignition: e.Format == string(plan.Ignition), MAC: e.MAC}
			for _, file := range d.Files {
				m.Files = append(m.Files, media.File{Path: file.Name, Data: file.Data})
			}
			if !yield(m, err) {
				return
			}
		}
	}
}
