package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kiln/media"
	"kiln/render"
)

// write writes the files, and removes those that are no longer among them: a machine that is gone must not boot any more.
func (f *netbootFlags) write(r *media.Result, inv *render.Inventory) (*render.Changes, error) {
	old, err := f.index()
	if err != nil {
		return nil, err
	}
	files := make([]render.Output, len(r.Files))
	now := map[string]bool{}
	for i, file := range r.Files {
		files[i] = render.Output{Name: file.Path, Data: file.Data}
		now[file.Path] = true
	}
	if old == nil {
		return f.writeNew(files)
	}
	if old.Cluster != inv.Cluster {
		return nil, fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --out", f.out, render.ErrForeign, old.Name, old.Cluster, inv.Name, inv.Cluster)
	}
	var stale []string
	for _, name := range old.Files {
		if !now[name] && fs.ValidPath(name) {
			stale = append(stale, name)
		}
	}
	return render.WriteFiles(f.out, files, media.IndexFile, stale)
}

// index is what the last run wrote; nil if there is none. A rendered folder is refused: the operator's kubeconfig in it is not to be served.
func (f *netbootFlags) index() (*media.Index, error) {
	if info, err := os.Stat(f.out); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: not a folder; name one with --out", f.out)
	}
	if !absent(filepath.Join(f.out, render.InventoryFile)) {
		return nil, fmt.Errorf("%s: a folder of kiln render, with more than machines may see; name another one with --out", f.out)
	}
	name := filepath.Join(f.out, media.IndexFile)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x := media.ParseIndex(data)
	if x == nil {
		return nil, fmt.Errorf("%s: not written by kiln netboot; name another folder with --out", name)
	}
	return x, nil
}

// writeNew writes into a folder without an index, which may hold images and whatever else is to be served, but none of the files.
func (f *netbootFlags) writeNew(files []render.Output) (*render.Changes, error) {
	var errs []error
	for _, file := range files {
		name := filepath.Join(f.out, file.Name)
		there, err := os.ReadFile(name)
		if !errors.Is(err, fs.ErrNotExist) && (err != nil || string(there) != string(file.Data)) {
			errs = append(errs, fmt.Errorf("%s: is there already, and not of kiln netboot; name another folder with --out", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return render.WriteFiles(f.out, files, media.IndexFile, nil)
}
