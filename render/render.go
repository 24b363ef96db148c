// Package render is the compiler's driver: it turns a plan and a bundle into the machines of a cluster, checks them, packs
// each into its boot document and writes the whole set, or nothing. read.go, write.go and folder.go
// touch the disk; the rest is pure.
package render

import (
	"sync"

	"kiln/pki"
	"kiln/render/assembly"
	"kiln/render/check"
	"kiln/render/config"
	"kiln/render/document"
	"kiln/render/explain"
	"kiln/render/node"
	"kiln/render/plan"
)

// Cluster is a cluster ready to be rendered machine by machine. Its methods may be called from several
// goroutines.
type Cluster struct {
	*assembly.Cluster

	// checker is made at the first check.
	checker func() *check.Checker
}

// New prepares the cluster of c with the secrets of b. Its errors are config.Problems wherever a line of the configuration is to
// blame: a patch that matches or changes nothing, an add-on that cannot be read.
func New(c *config.Cluster, b *pki.Bundle) (*Cluster, error) { return newCluster(assembly.New(c, b)) }

// NewPublic is New without secrets: the cluster can be reviewed, and not written.
func NewPublic(c *config.Cluster, p *pki.Public) (*Cluster, error) {
	return newCluster(assembly.NewPublic(c, p))
}

func newCluster(a *assembly.Cluster, err error) (*Cluster, error) {
	if err != nil {
		return nil, err
	}
	r := &Cluster{Cluster: a}
	r.checker = sync.OnceValue(func() *check.Checker {
		return check.New(&check.Cluster{
			Plan: r.Plan, Public: r.Public, Bundle: r.Bundle, Objects: r.Objects, Joining: r.Joining, Origin: func(m *plan.Machine, f *node.File) []config.Place { return explain.Origin(a, m, f) },
		})
	})
	return r, nil
}

// Check states what must hold of every machine that leaves the renderer, whatever the configuration.
// The program runs it at each render; it returns everything that does not hold.
func (r *Cluster) Check(m *plan.Machine, n *node.Node) error { return r.checker().Node(m, n) }

// Document renders, checks and packs the i-th machine of the plan.
func (r *Cluster) Document(i int) (*document.Document, error) {
	n, err := r.checked(i)
	if err != nil {
		return nil, err
	}
	return document.Pack(r.Cluster, &r.Plan.Machines[i], n)
}

// checked is what the i-th machine of the plan receives, after every check.
func (r *Cluster) checked(i int) (*node.Node, error) {
	n, err := r.Node(i)
	if err != nil {
		return nil, err
	}
	return n, r.Check(&r.Plan.Machines[i], n)
}

// Explain says what the file at a path is on a machine or, with a colon and a key behind the path, which
// stage of the rendering gave the value there. Of a secret it tells the name and the generation alone. A
// *suggest.Unknown says that there is no such machine, file or key.
func (r *Cluster) Explain(machine, asked string) (*explain.Explanation, error) {
	return explain.Explain(r.Cluster, machine, asked)
}
