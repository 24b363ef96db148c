// Package check states what must hold of every machine that leaves the renderer, whatever the
// configuration. It reads a finished machine and cannot call what made it.
package check

import (
	"crypto/x509"
	"errors"

	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/secret"
)

// Checker holds the machines of one cluster to what must hold. Its methods may be called from several
// goroutines.
type Checker struct{ facts *facts }

// New reads what concerns the cluster as a whole: once, for all its machines.
func New(c *Cluster) *Checker {
	f := readFacts(c)
	for _, subject := range []func(){f.checkRights, f.checkVIPRights, f.checkNetworks, f.checkWorkloads} {
		subject()
	}
	return &Checker{f}
}

// Node returns everything that does not hold of a machine, and each error names the machine. It reads
// what was rendered, after the user's flags and patches, and calls nothing that made it.
//
// What joins two machines is checked on each of them against what both have in common: the plan's
// names and addresses, the bundle's CAs, the API objects. What the user alone can judge, such as a
// file that an image brings, is passed over.
func (k *Checker) Node(m *plan.Machine, n *node.Node) error {
	c := &inspection{
		cluster: k.facts.cluster, facts: k.facts, machine: m, node: n,
		files: make(map[string]*node.File, len(n.Files)), dirs: map[string]node.Dir{}, links: map[string]string{},
		parsed: map[string][]*x509.Certificate{}, verified: map[signature]error{},
	}
	for _, subject := range []func(){
		c.checkPaths, c.checkSecrets, c.readDescriptions, c.readPrograms, c.checkTrust, c.checkReferences, c.checkPorts, c.checkEndpoint, c.checkNetworks, c.checkImages, c.checkObjects,
	} {
		subject()
	}
	return errors.Join(c.errs...)
}

// Holds compares the secrets with which a machine's files are marked to a table of secrets.
func (k *Checker) Holds(kinds []secret.Kind, m *plan.Machine, n *node.Node) error {
	c := &inspection{cluster: k.facts.cluster, machine: m, node: n}
	c.checkMarks(kinds)
	return errors.Join(c.errs...)
}
