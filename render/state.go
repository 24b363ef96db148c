package render

import (
	"kiln/render/change"
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
	return review.Read(t.Files())
}
