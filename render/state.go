package render

import (
	"io/fs"

	"kiln/render/change"
)

// State returns the cluster as it would be rendered, to be compared. It needs no secret.
func (r *Cluster) State(progress func(done int)) (*change.Cluster, error) {
	t, err := r.twin()
	if err != nil {
		return nil, err
	}
	w := &writer{cluster: r, twin: t, options: Options{Progress: progress}}
	if _, err := w.machines(); err != nil {
		return nil, err
	}
	return FilesState(t.files())
}

// FilesState reads the review twin that consists of these files, by their paths below its folder.
func FilesState(files map[string][]byte) (*change.Cluster, error) { return change.Read(among(files)) }

// among opens files that are in memory.
func among(files map[string][]byte) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}
