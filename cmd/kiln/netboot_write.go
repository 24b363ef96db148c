package main

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"kiln/render"
	"kiln/render/media"
)

// write writes the files, and removes those that are no longer among them: a machine that is gone
// must not boot any more. A rendered folder is refused: the operator's kubeconfig in it is not to
// be served. A folder without an index may hold images and whatever else is to be served, but none
// of the files.
func (f *netbootFlags) write(files iter.Seq2[media.File, error], inv *render.Inventory) (*render.Changes, error) {
	if _, err := os.Lstat(filepath.Join(f.out, render.InventoryFile)); err == nil {
		return nil, fmt.Errorf("%s: a folder of kiln render, with more than machines may see; "+
			"name another one with --out", f.out)
	}
	return render.WriteFiles(render.Files{
		Dir: f.out, List: media.IndexFile,
		Listed: func(list []byte) ([]string, error) { return f.listed(list, inv) },
		Files: func(yield func(render.Output, error) bool) {
			for file, err := range files {
				if !yield(render.Output{Name: file.Path, Data: file.Data}, err) {
					return
				}
			}
		},
	})
}

// listed are the paths that an index names.
func (f *netbootFlags) listed(index []byte, inv *render.Inventory) ([]string, error) {
	old := media.ParseIndex(index)
	if old == nil {
		return nil, fmt.Errorf("%s: not written by kiln netboot; name another folder with --out",
			filepath.Join(f.out, media.IndexFile))
	}
	var names []string
	for _, name := range old.Files {
		if media.Made(name) {
			names = append(names, name)
		}
	}
	if old.Cluster != inv.Cluster {
		return names, fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --out",
			f.out, render.ErrForeign, old.Name, old.Cluster, inv.Name, inv.Cluster)
	}
	return names, nil
}
