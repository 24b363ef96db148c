// Package assembly turns a plan and a bundle into the machines of a cluster: every file, unit, folder
// and link of each, in no packing format. It checks only what the configuration alone can get wrong,
// and leaves to package check what must hold of a finished machine.
package assembly

import (
	"fmt"
	"sync"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// Cluster is a cluster ready to be rendered machine by machine: everything that is equal on many machines has been made
// once. Its methods may be called from several goroutines.
type Cluster struct {
	Plan   *plan.Plan
	Public *pki.Public
	// Bundle holds the secrets; nil if the cluster is rendered from the public half alone. Then no file with a secret has a
	// content, nor has one that is computed from a secret, and only the review twin can be written.
	Bundle *pki.Bundle

	restore restore
	// Objects are what the API server is to hold, in the order in which it gets them.
	Objects []manifests.Object
	routes  []plan.Route
	patches patchSet
	// Joining are the machines that join with a token, by the name of the token's Secret.
	Joining map[string]*plan.Machine

	// kubelets keeps the finished kubelet configurations by everything they are made from: many machines, few
	// configurations.
	kubelets sync.Map
}

// New prepares the cluster of c with the secrets of b. Its errors are config.Problems wherever a line of the configuration is to
// blame: a patch that matches or changes nothing, an add-on that cannot be read.
func New(c *config.Cluster, b *pki.Bundle) (*Cluster, error) {
	if b.Name != c.Metadata.Name {
		return nil, fmt.Errorf("the bundle belongs to cluster %q, the configuration describes %q; name the right one with --secrets", b.Name, c.Metadata.Name)
	}
	return assemble(c, &b.Public, b)
}

// NewPublic is New without secrets: the cluster can be reviewed, and not written.
func NewPublic(c *config.Cluster, p *pki.Public) (*Cluster, error) {
	if p.Name != c.Metadata.Name {
		return nil, fmt.Errorf("the public half belongs to cluster %q, the configuration describes %q; name the right one with --public", p.Name, c.Metadata.Name)
	}
	return assemble(c, p, nil)
}

func assemble(c *config.Cluster, public *pki.Public, b *pki.Bundle) (*Cluster, error) {
	p := plan.New(c)
	r := &Cluster{Plan: p, Public: public, Bundle: b, routes: p.Routes(), Joining: map[string]*plan.Machine{}}
	// Each needs what the one before it made.
	for _, step := range []func() config.Problems{
		func() config.Problems { return append(r.unknownChecks(), r.patches.read(c)...) }, r.readObjects, r.tryPatches,
	} {
		if problems := step(); len(problems) > 0 {
			return nil, problems
		}
	}
	return r, nil
}

// Machines returns how many documents the cluster has: one for each named machine and each pool.
func (r *Cluster) Machines() int { return len(r.Plan.Machines) }

// Node returns what the i-th machine of the plan receives.
func (r *Cluster) Node(i int) (*node.Node, error) {
	m := &r.Plan.Machines[i]
	n, err := r.Machine(m)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return n, nil
}
