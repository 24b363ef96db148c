package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"kiln/media"
	"kiln/render"
	"kiln/render/plan"
)

// machines reads what names mean, in their order and each once: folders of machines, or whole output folders. All are of one output folder, which
// it returns as well.
func machines(names []string) (dir string, out []media.Machine, err error) {
	var entries []render.Entry
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
		} else if a, b := absolute(dir), absolute(at); a != b {
			return "", nil, usageError{fmt.Errorf("%s and %s: machines of two renderings; call kiln once for each", dir, at)}
		}
		for i := range found {
			if !seen[found[i].Document] {
				seen[found[i].Document] = true
				entries = append(entries, found[i])
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "", nil, err
	}
	out, err = delivered(dir, entries)
	return dir, out, err
}

// delivered reads the machines of an output folder.
func delivered(dir string, entries []render.Entry) ([]media.Machine, error) {
	all, err := render.Deliveries(dir, entries)
	if err != nil {
		return nil, err
	}
	out := make([]media.Machine, len(all))
	for i := range all {
		d := &all[i]
		e := &d.Entry
		out[i] = media.Machine{Name: e.Node, Dir: d.Dir, Pool: e.Pool, OS: e.OS, Platform: e.Platform, Ignition: e.Format == string(plan.Ignition), MAC: e.MAC}
		for _, file := range d.Files {
			out[i].Files = append(out[i].Files, media.File{Path: path.Base(file.Name), Data: file.Data})
		}
	}
	return out, nil
}

// absolute is a path from the root, or as it is if that is not known.
func absolute(name string) string {
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}
