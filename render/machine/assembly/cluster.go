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
	"regexp"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/plan"
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
	// Joining lists the bootstrap tokens that machines may join with, by the names of their
	// Secrets.
	Joining map[string]*pki.Joining

	restore restore
	addon   map[string]int // the index of the add-on that an object comes from, by its path
	patches *PatchSet
	later   Later

	// What many machines share, by what it is made from.
	kubelets    once.Values[kubelet]
	kubeconfigs once.Values[[]byte] // with a fixed word in the place of the user
	hooks       once.Values[*hook]  // the programs of the hook
	units       once.Values[string] // by their names
}

// Machines returns how many documents the cluster has: one for each named machine and each pool.
func (r *Cluster) Machines() int { return len(r.Plan.Machines) }

// restore says how etcd comes back from a snapshot: one member restores it, and the others join
// that member. If each member restored a snapshot of its own, their data could differ, and etcd
// would not notice.
type restore struct {
	machine  string // the machine with the snapshot; empty if no snapshot is restored
	snapshot string // the snapshot's path on that machine
}

// hook is the programs of the hook on a machine, and the variables that they read.
type hook struct {
	boot, report, steps []byte
	reads               map[string]bool
}

var variable = regexp.MustCompile(`\$\{?([a-z_]+)`)
