package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"kiln/render"
	"kiln/render/media"
)

// write writes the files, and removes those that are no longer among them: a machine that is gone must not boot any more.
func (f *netbootFlags) write(files iter.Seq2[media.File, error], r *media.Result, inv *render.Inventory) (*render.Changes, error) {
	old, err := f.index()
	if err != nil {
		return nil, err
	}
	if old != nil && old.Cluster != inv.Cluster {
		return nil, fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --out", f.out, render.ErrForeign, old.Name, old.Cluster, inv.Name, inv.Cluster)
	}
	outputs := func(yield func(render.Output, error) bool) {
		for file, err := range files {
			if err == nil && old == nil {
				err = f.free(file)
			}
			if !yield(render.Output{Name: file.Path, Data: file.Data}, err) {
				return
			}
		}
	}
	return render.WriteFiles(f.out, outputs, media.IndexFile, func() []string { return stale(old, r.Paths) })
}

// stale are the paths of an index that are not among those of now.
func stale(old *media.Index, now []string) (out []string) {
	if old == nil {
		return nil
	}
	there := map[string]bool{}
	for _, name := range now {
		there[name] = true
	}
	for _, name := range old.Files {
		if !there[name] && fs.ValidPath(name) {
			out = append(out, name)
		}
	}
	return out
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
	data, err := readPlain(name)
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

// free says that a file of a folder without an index may be written: such a folder may hold images and whatever else is to be served, but none of
// the files, unless a run that was cut off wrote them.
func (f *netbootFlags) free(file media.File) error {
	name := filepath.Join(f.out, file.Path)
	there, err := readPlain(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(there, file.Data):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s: is there already, and not of kiln netboot; name another folder with --out", name)
}

// readPlain reads a file of the folder. It fails at once if there is a FIFO, which nobody may ever
// write to, or anything else that is no plain file. The error wraps fs.ErrNotExist if there is
// nothing.
func readPlain(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a plain file; name another folder with --out", name)
	}
	return os.ReadFile(name)
}
