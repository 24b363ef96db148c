package render

import (
	"fmt"
	"io/fs"
	"slices"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// State returns the rendered cluster in the form in which two clusters are compared. It needs no
// secret. progress is called after each machine, with the number of machines done; it may be nil.
func (r *Cluster) State(progress func(done int)) (*change.Cluster, error) {
	t, err := review.NewTwin(r.Cluster)
	if err != nil {
		return nil, err
	}
	w := &writer{cluster: r, twin: t, options: Options{Progress: progress}}
	if _, err := w.machines(); err != nil {
		return nil, err
	}
	return t.State(), nil
}

// DocumentsState reads the documents in the output folder dir. The result holds no secret.
func DocumentsState(dir string) (*change.Cluster, error) {
	inv, err := ReadInventory(dir)
	if err != nil {
		return nil, err
	}
	if inv == nil {
		return nil, fmt.Errorf("%s: no folder of documents: it has no %s", dir, InventoryFile)
	}
	root, err := folder.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	c, err := stateOf(inv, func(name string) ([]byte, error) { return readInside(root, dir, name) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// stateOf reads the documents of an inventory.
func stateOf(
	inv *document.Inventory, open func(name string) ([]byte, error),
) (*change.Cluster, error) {
	documents, err := review.NewDocuments(inv, open)
	if err != nil {
		return nil, err
	}
	t, err := documents.Twin()
	if err != nil {
		return nil, err
	}
	err = concurrently(len(inv.Documents), func(i int) error { return documents.AddTo(t, i) })
	return t.State(), err
}

// DocumentRoots returns the fingerprints of the roots of the documents in the output folder dir, by
// their marks, as its inventory has them. That of an earlier release has none: then they are those
// of the CAs in the document of the first control plane.
func DocumentRoots(dir string, inv *document.Inventory) map[string]string {
	first := slices.IndexFunc(inv.Documents, func(e document.Entry) bool {
		return e.Role == node.ControlPlane
	})
	if len(inv.Roots) > 0 || first < 0 {
		return inv.Roots
	}
	root, err := folder.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	one := *inv
	one.Documents = inv.Documents[first : first+1]
	c, err := stateOf(&one, func(name string) ([]byte, error) {
		return readInside(root, dir, name)
	})
	if err != nil {
		return nil // the documents are damaged, and rendered again
	}
	files := review.Write(c)
	return review.Roots(func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	})
}
