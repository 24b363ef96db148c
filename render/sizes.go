package render

import (
	"slices"

	"kiln/render/document"
	"kiln/render/node"
)

// Size is the size of a document and of the largest files in it.
type Size struct {
	Entry   document.Entry
	Largest []FileSize // the largest first
}

// FileSize is a file's size before compression.
type FileSize struct {
	Path  string
	Bytes int
}

// Sizes returns the sizes of all documents in the plan's order, each with that many of its largest
// files. Without the bundle it returns none. progress is called after each machine, with the number
// of machines done; it may be nil.
func (r *Cluster) Sizes(largest int, progress func(done int)) ([]Size, error) {
	if r.Bundle == nil {
		return nil, nil
	}
	out := make([]Size, r.Machines())
	errs := make([]error, r.Machines())
	for i := range out {
		out[i], errs[i] = r.size(i, largest)
		if progress != nil {
			progress(i + 1)
		}
	}
	return out, joinErrors(errs)
}

// size returns the size of the i-th machine's document.
func (r *Cluster) size(i, largest int) (Size, error) {
	n, err := r.checked(i)
	if err != nil {
		return Size{}, err
	}
	d, err := document.Pack(r.Cluster, &r.Plan.Machines[i], n)
	if err != nil {
		return Size{}, err
	}
	s := Size{Entry: d.Entry}
	for _, f := range bySize(n)[:min(largest, len(n.Files))] {
		s.Largest = append(s.Largest, FileSize{f.Path, len(f.Content)})
	}
	return s, nil
}

// bySize returns a machine's files, the largest first.
func bySize(n *node.Node) []node.File {
	files := slices.Clone(n.Files)
	slices.SortStableFunc(files, func(a, b node.File) int {
		return len(b.Content) - len(a.Content)
	})
	return files
}

// Try renders, checks and packs every machine, and keeps no result. It fails with all errors, as
// Write does. progress is called after each machine, with the number of machines done; it may be
// nil.
func (r *Cluster) Try(progress func(done int)) error {
	errs := make([]error, r.Machines())
	for i := range errs {
		_, errs[i] = r.Document(i)
		if progress != nil {
			progress(i + 1)
		}
	}
	return joinErrors(errs)
}
