package render

import (
	"fmt"

	"kiln/render/change"
	"kiln/render/folder"
	"kiln/render/review"
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
	c, err := review.FromDocuments(inv, func(name string) ([]byte, error) {
		return readInside(root, dir, name)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}
