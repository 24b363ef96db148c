package render

import (
	"errors"

	"kiln/manifests"
	"kiln/render/node"
	"kiln/render/plan"
)

// EditObjects changes what the API server is to hold. It must be called before any machine is checked.
func (r *Cluster) EditObjects(edit func([]manifests.Object) []manifests.Object) {
	r.objects = edit(r.objects)
}

// Twin returns the review twin by paths below its folder, after edit has changed each machine, if it is given.
func (r *Cluster) Twin(edit func(*node.Node)) (map[string][]byte, error) {
	t, err := r.twin()
	if err != nil {
		return nil, err
	}
	for i := range r.Machines() {
		n, err := r.Node(i)
		if err != nil {
			return nil, err
		}
		if edit != nil {
			edit(n)
			n.Sort()
		}
		if err := t.add(i, n); err != nil {
			return nil, err
		}
	}
	return t.files(), nil
}

// CheckHolds holds the marks of a machine's files to a table of secrets.
func (r *Cluster) CheckHolds(kinds []SecretKind, m *plan.Machine, n *node.Node) error {
	c := &checker{cluster: r, machine: m, node: n}
	c.holds(kinds)
	return errors.Join(c.errs...)
}

// Unified compares two texts.
var Unified = unified
