package render

import (
	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/twin/review"
)

// EditObjects changes the objects that the API server is to hold. It must be called before any
// machine is checked.
func (r *Cluster) EditObjects(edit func([]manifests.Object) []manifests.Object) {
	r.Objects = edit(r.Objects)
}

// Twin returns the review twin by paths below its folder. If edit is not nil, it changes each
// machine first.
func (r *Cluster) Twin(edit func(*node.Node)) (map[string][]byte, error) {
	nodes := make([]*node.Node, r.Machines())
	for i := range nodes {
		var err error
		if nodes[i], err = r.Node(i); err != nil {
			return nil, err
		}
		if edit != nil {
			edit(nodes[i])
			nodes[i].Sort()
		}
	}
	return r.TwinOf(nodes)
}

// TwinOf returns the review twin, by paths below its folder, of a cluster with these machines.
func (r *Cluster) TwinOf(nodes []*node.Node) (map[string][]byte, error) {
	t, err := review.NewTwin(r.Cluster)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		if err := t.Add(i, n); err != nil {
			return nil, err
		}
	}
	return t.Files(), nil
}

// SecretCluster returns what the table of secrets asks of a cluster.
func (r *Cluster) SecretCluster() *secret.Cluster { return secretCluster(r.Cluster) }

// CompareMarks compares the marks of a machine's files with a table of secrets.
func (r *Cluster) CompareMarks(kinds []secret.Kind, m *plan.Machine, n *node.Node) []error {
	return secret.CompareMarks(kinds, r.SecretCluster(), m, n)
}

// Unified compares two texts.
var Unified = unifiedDiff

// Document renders, checks and packs the i-th machine of the plan. It fails where Node and Check
// do, and if the document is too large for the machine's platform.
func (r *Cluster) Document(i int) (*document.Document, error) {
	n, err := r.checked(i)
	if err != nil {
		return nil, err
	}
	return r.packer.Pack(&r.Plan.Machines[i], n)
}
