package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
)

// Size is the size of a document, and what of it the user brought.
type Size struct {
	Entry document.Entry
	// Own is by how many bytes the document would shrink without what the user brought: files,
	// units and add-ons. It is an estimate, and 0 if the document leaves a part to be fetched.
	// Secrets are not counted: their length is nobody's business.
	Own int
	// Fields are the fields of cluster.yaml that brought it, the largest first.
	Fields []FieldSize
}

// FieldSize is the size of what a field of cluster.yaml brought, before compression.
type FieldSize struct {
	Field string
	Bytes int
}

// Sizes returns the sizes of all documents in the plan's order. Without the bundle it returns none.
// progress is called after each machine, with the number of machines done; it may be nil.
func (r *Cluster) Sizes(progress func(done int)) ([]Size, error) {
	if r.Bundle == nil {
		return nil, nil
	}
	out := make([]Size, r.Machines())
	errs := make([]error, r.Machines())
	shares := map[string]int{}
	for i := range out {
		out[i], errs[i] = r.size(i, shares)
		if progress != nil {
			progress(i + 1)
		}
	}
	return out, joinErrors(errs)
}

// size returns the size of the i-th machine's document. shares has the share of what the user
// brought, by what it is: machines that have the same are compressed once.
func (r *Cluster) size(i int, shares map[string]int) (Size, error) {
	n, err := r.checked(i)
	if err != nil {
		return Size{}, err
	}
	m := &r.Plan.Machines[i]
	d, err := r.packer.Pack(m, n)
	if err != nil {
		return Size{}, err
	}
	s := Size{Entry: d.Entry, Fields: r.fieldSizes(n)}
	if len(s.Fields) == 0 || d.Entry.Delivery != "" {
		return s, nil
	}
	key := fmt.Sprint(d.Entry.Role, d.Entry.OS, d.Entry.Platform, s.Fields)
	if share, ok := shares[key]; ok {
		s.Own = share
		return s, nil
	}
	isYours := func(f *node.File) bool { return f.Secret == "" && r.yours(f) != "" }
	s.Own, err = document.Share(m, n, d.Entry.Bytes, isYours)
	shares[key] = s.Own
	return s, err
}

// fieldSizes returns what each field of cluster.yaml brought to a machine, the largest first.
func (r *Cluster) fieldSizes(n *node.Node) (list []FieldSize) {
	at := map[string]int{}
	for i := range n.Files {
		f := &n.Files[i]
		field := r.yours(f)
		if field == "" || f.Secret != "" {
			continue
		}
		j, ok := at[field]
		if !ok {
			j = len(list)
			at[field] = j
			list = append(list, FieldSize{Field: field})
		}
		list[j].Bytes += len(f.Content)
	}
	slices.SortStableFunc(list, func(a, b FieldSize) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Field, b.Field))
	})
	return list
}

// yours returns the field of cluster.yaml that a machine's file comes from, if the user brought it:
// a file or unit, or an object of an add-on. It is empty for kiln's own files.
func (r *Cluster) yours(f *node.File) string {
	if f.Why == node.FromConfig {
		return strings.Join(f.From, ", ")
	}
	name, ok := strings.CutPrefix(f.Path, plan.ObjectsDir)
	number, _, found := strings.Cut(name, "-")
	i, err := strconv.Atoi(number)
	if !ok || !found || err != nil || i >= len(r.Objects) {
		return ""
	}
	if field := r.ObjectField(r.Objects[i]); field != ownObjects {
		return field
	}
	return ""
}

// ownObjects is the field that kiln's own objects are said to come from.
const ownObjects = "addons"

// Try renders, checks and packs every machine, and keeps no result. It fails with all errors, as
// Write does. progress is called after each machine, with the number of machines done; it may be
// nil.
func (r *Cluster) Try(progress func(done int)) error {
	w := &writer{cluster: r, options: Options{Progress: progress}, try: true}
	_, err := w.machines()
	return err
}
