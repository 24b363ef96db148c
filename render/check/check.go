// Package check checks every finished machine against the rules of a working cluster, whatever the
// configuration says: certificates verify where they are shown, files that something names exist,
// ports are opened once, secrets lie only where the table of package secret allows them.
//
// It reads the plan and the finished machine, and it cannot call the code that made the machine: a
// mistake there is not repeated here. It changes nothing and packs nothing.
package check

import (
	"crypto/x509"
	"errors"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// Checker checks the machines of one cluster. Its methods may be called from several goroutines.
type Checker struct{ facts *facts }

// New reads and checks what concerns the cluster as a whole, once for all its machines. Node
// returns the errors of the cluster with those of the first control plane.
func New(c *Cluster) *Checker {
	f := readFacts(c)
	for _, check := range []func(){
		f.checkRights,
		f.checkDNSProbes,
		f.checkVIPRights,
		f.checkNetworks,
		f.checkWorkloads,
	} {
		check()
	}
	return &Checker{f}
}

// Node returns all errors of a machine, joined; each names the machine. It reads what was rendered,
// after the user's flags and patches.
//
// A fact that concerns two machines is checked on each of them against what both share: the plan's
// names and addresses, the bundle's CAs, the API objects. What only the user can judge, such as a
// file that an image contains, is not checked.
func (k *Checker) Node(m *plan.Machine, n *node.Node) error {
	c := &inspection{
		cluster: k.facts.cluster, facts: k.facts, machine: m, node: n,
		tree:     machine.ReadTree(n),
		parsed:   map[string][]*x509.Certificate{},
		verified: map[signature]error{},
	}
	for _, check := range []func(){
		c.checkPaths,
		func() { c.failAll(k.facts.confidential.Node(m, n)) },
		c.readDescriptions,
		c.checkKinds,
		c.readPrograms,
		c.checkCommands,
		c.checkAPIServer,
		c.checkTrust,
		c.checkReferences,
		c.checkOverrides,
		c.checkResolver,
		c.checkPorts,
		c.checkEndpoint, // asks for the listeners that checkPorts finds
		c.checkNetworks,
		c.checkImages,
		c.checkObjects,
	} {
		check()
	}
	return errors.Join(c.errs...)
}

// Warnings returns what the programs of the machines that were checked so far warn of.
func (k *Checker) Warnings() config.Problems { return k.facts.commands.Warnings() }
