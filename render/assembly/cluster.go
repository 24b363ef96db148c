// Package assembly turns a plan and a bundle into the machines of a cluster: every file, folder,
// link, unit and user of each, in no packing format. Machine in machine.go is its table of
// contents; each step there has a file of its own.
//
// What many machines share is made once, in New: the API objects and the user's patches. New also
// finds the mistakes of the configuration that show only there: patches without effect, add-ons
// that cannot be applied, preflight checks that do not exist. Package check states what must hold
// of a finished machine, and package document packs it.
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

// Cluster is a cluster ready to be rendered machine by machine: what many machines share has been
// made once. Its methods may be called from several goroutines.
type Cluster struct {
	Plan   *plan.Plan
	Public *pki.Public
	// Bundle holds the secrets. It is nil if the cluster is rendered from the public half alone:
	// then every file that holds a secret, or is computed from one, has no content, and the only
	// output is the review twin.
	Bundle *pki.Bundle
	// Objects lists the objects that the API server receives, in the order of their application.
	Objects []manifests.Object
	// Joining lists the machines that join with a bootstrap token, by the name of the token's
	// Secret.
	Joining map[string]*plan.Machine

	restore restore
	routes  []plan.Route
	patches patchSet
	// kubelets keeps each kubelet configuration by all that it is made from, because many machines
	// share few configurations.
	kubelets sync.Map
}

// New prepares the cluster that c describes, with the secrets of b. It fails with config.Problems
// where a line of the configuration is wrong: a patch that matches or changes nothing, an add-on
// that cannot be read, a name in ignorePreflight that no check has. It also fails if b belongs to
// another cluster.
func New(c *config.Cluster, b *pki.Bundle) (*Cluster, error) {
	if b.Name != c.Metadata.Name {
		return nil, fmt.Errorf("the bundle belongs to cluster %q, "+
			"the configuration describes %q; name the right one with --secrets",
			b.Name, c.Metadata.Name)
	}
	return assemble(c, &b.Public, b)
}

// NewPublic is New without secrets: the cluster can be reviewed, but its documents cannot be
// written.
func NewPublic(c *config.Cluster, p *pki.Public) (*Cluster, error) {
	if p.Name != c.Metadata.Name {
		return nil, fmt.Errorf("the public half belongs to cluster %q, "+
			"the configuration describes %q; name the right one with --public",
			p.Name, c.Metadata.Name)
	}
	return assemble(c, p, nil)
}

func assemble(c *config.Cluster, public *pki.Public, b *pki.Bundle) (*Cluster, error) {
	p := plan.New(c)
	r := &Cluster{
		Plan: p, Public: public, Bundle: b,
		routes: p.Routes(), Joining: map[string]*plan.Machine{},
	}
	// Each step needs the result of the one before it.
	for _, step := range []func() config.Problems{
		func() config.Problems { return append(r.unknownChecks(), r.patches.read(c)...) },
		r.readObjects,
		r.tryPatches,
	} {
		if problems := step(); len(problems) > 0 {
			return nil, problems
		}
	}
	return r, nil
}

// Machines returns how many documents the cluster has: one for each named machine and each pool.
func (r *Cluster) Machines() int { return len(r.Plan.Machines) }

// Node returns everything that the i-th machine of the plan receives. It fails as Machine does.
func (r *Cluster) Node(i int) (*node.Node, error) {
	m := &r.Plan.Machines[i]
	n, err := r.Machine(m)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return n, nil
}
