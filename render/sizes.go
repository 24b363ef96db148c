package render

import (
	"slices"

	"kiln/render/document"
	"kiln/render/node"
)

// Size is how large a document is, and what makes it so.
type Size struct {
	Entry   document.Entry
	Largest []FileSize // the largest first
}

// FileSize is a file's size before compression.
type FileSize struct {
	Path  string
	Bytes int
}

// Sizes are those of all documents, in the plan's order; none without the bundle. So many of the largest files are named.
func (r *Cluster) Sizes(largest int) ([]Size, error) {
	if r.Bundle == nil {
		return nil, nil
	}
	out := make([]Size, r.Machines())
	errs := make([]error, r.Machines())
	for i := range out {
		n, err := r.checked(i)
		if err != nil {
			errs[i] = err
			continue
		}
		d, err := document.Pack(r.Cluster, &r.Plan.Machines[i], n)
		if err != nil {
			errs[i] = err
			continue
		}
		out[i].Entry = d.Entry
		for _, f := range bySize(n)[:min(largest, len(n.Files))] {
			out[i].Largest = append(out[i].Largest, FileSize{f.Path, len(f.Content)})
		}
	}
	return out, joinErrors(errs)
}

// bySize are a machine's files, the largest first.
func bySize(n *node.Node) []node.File {
	files := slices.Clone(n.Files)
	slices.SortStableFunc(files, func(a, b node.File) int { return len(b.Content) - len(a.Content) })
	return files
}

// Try renders, checks and packs every machine and keeps nothing.
func (r *Cluster) Try() error {
	errs := make([]error, r.Machines())
	for i := range errs {
		_, errs[i] = r.Document(i)
	}
	return joinErrors(errs)
}
