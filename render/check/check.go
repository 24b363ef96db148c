// Package check states what must hold of every machine that leaves the renderer, whatever the
// configuration. It reads a finished machine and cannot call what made it.
package check

import (
	"crypto/x509"
	"errors"
	"fmt"
	"path"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/secret"
)

// Cluster is what the checks know of a cluster beside the machine that they look at.
type Cluster struct {
	Plan   *plan.Plan
	Public *pki.Public
	// Bundle is nil if the cluster is rendered without secrets. Then keys, signatures and tokens are
	// not checked.
	Bundle *pki.Bundle
	// Objects are what the API server is to hold, in their order.
	Objects []manifests.Object
	// Joining are the machines that join with a token, by the name of the token's Secret.
	Joining map[string]*plan.Machine
	// Origin returns the places in the configuration that a file of a machine comes from, for messages.
	Origin func(m *plan.Machine, f *node.File) []config.Place
}

// Checker holds the machines of one cluster to what must hold. Its methods may be called from several
// goroutines.
type Checker struct{ facts *facts }

// New reads what concerns the cluster as a whole: once, for all its machines.
func New(c *Cluster) *Checker { return &Checker{readFacts(c)} }

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
		c.tree, c.secrets, c.describe, c.read, c.trust, c.references, c.ports, c.endpoint, c.networks, c.images, c.objects,
	} {
		subject()
	}
	return errors.Join(c.errs...)
}

// Holds compares the secrets with which a machine's files are marked to a table of secrets.
func (k *Checker) Holds(kinds []secret.Kind, m *plan.Machine, n *node.Node) error {
	c := &inspection{cluster: k.facts.cluster, machine: m, node: n}
	c.holds(kinds)
	return errors.Join(c.errs...)
}

// inspection is the check of one machine.
type inspection struct {
	cluster *Cluster
	facts   *facts
	machine *plan.Machine
	node    *node.Node
	errs    []error

	// What the machine has when its document has been written, by path. dirs are all: those that are only the parents
	// of something are made 0755 root.
	files map[string]*node.File
	dirs  map[string]node.Dir
	links map[string]string

	// What read has found in the files.
	programs    []*program
	kubeconfigs map[string]*kubeconfig // by path
	kubelet     *kubelet

	parsed    map[string][]*x509.Certificate // by path
	verified  map[signature]error
	listeners []listener
}

func (c *inspection) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s %s: %w", c.machine.Kind(), c.machine.Name, fmt.Errorf(format, args...)))
}

// tree: every path once, absolute and clean; nothing lies below a file.
func (c *inspection) tree() {
	there := make(map[string]bool, len(c.node.Files))
	var paths []string
	add := func(kind, p string) {
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p:
			c.fail("%s %q: not an absolute, clean path", kind, p)
		case there[p]:
			c.fail("%s %s: the path is used twice", kind, p)
		}
		there[p] = true
		paths = append(paths, p)
	}
	for i := range c.node.Files {
		f := &c.node.Files[i]
		add("file", f.Path)
		c.files[f.Path] = f
		if f.Mode > 0o777 {
			c.fail("file %s: mode %o has more than permission bits", f.Path, f.Mode)
		}
	}
	for _, d := range c.node.Dirs {
		add("directory", d.Path)
		c.dirs[d.Path] = d
	}
	for _, l := range c.node.Links {
		add("link", l.Path)
		c.links[l.Path] = l.Target
	}
	for _, p := range paths {
		for parent := path.Dir(p); parent != "/" && parent != "."; parent = path.Dir(parent) {
			if c.files[parent] != nil {
				c.fail("%s: lies below %s, which is a file", p, parent)
			}
			if _, known := c.dirs[parent]; !known {
				c.dirs[parent] = node.Dir{Path: parent, Mode: 0o755}
			}
		}
	}
}
