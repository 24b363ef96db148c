// Package change compares two states of a cluster. It finds what differs on which machine, and the
// steps that bring running machines to the newer state. It never sees a secret: a state holds what
// a review twin shows. It knows the files of a machine and what reads them, and not how they were
// rendered.
package change

import (
	"cmp"
	"slices"
)

// Cluster is one state of a cluster.
type Cluster struct {
	Name    string
	UUID    string
	Version string // of Kubernetes
	// Facts are properties that the machines' files depend on, such as "service subnets".
	Facts Facts
	// Machines are nodes by name, then pools by name.
	Machines []*Machine
	// Entries has what the cluster has once: the operator's kubeconfig.
	Entries Entries
}

// Machine is one named machine or one pool.
type Machine struct {
	Name, Role, OS, Platform, Format string
	Pool                             bool
	// Facts are properties beside the files: kubelet, addresses, until.
	Facts Facts
	// Entries are the machine's files, units and so on.
	Entries Entries
}

// Fact is a property of a cluster or of a machine.
type Fact struct{ Name, Value string }

// Facts are properties in the order in which they are listed, each name once.
type Facts []Fact

// Value returns the value of a fact, or the empty string if there is none.
func (f Facts) Value(name string) string {
	for _, fact := range f {
		if fact.Name == name {
			return fact.Value
		}
	}
	return ""
}

// Key identifies an entry of a machine.
type Key struct{ Kind, ID string }

// Compare orders keys as entries are listed.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds, k.Kind), slices.Index(kinds, other.Kind)),
		cmp.Compare(k.ID, other.ID))
}

// kinds are the kinds of entries, in the order in which they are listed.
var kinds = []string{"user", "dir", "file", "link", "unit", "key", "network-config", "ignition",
	"cloud-config"}

// Entry holds what a reviewer may know of a file, a unit or another part of a machine. Equal
// entries of several machines may be the same pointer; equal pointers are not compared further.
type Entry struct {
	Key
	Traits map[string]string // mode, owner, state, …
	Secret string            // name and generation; empty if it is none
	// lines in place of a content: certificates, or what the content depends on
	Shown   []string
	Content []byte // nil if it is not shown
}

// Entries are sorted by their keys.
type Entries []*Entry

// Find returns the entry with a key, or nil if there is none.
func (e Entries) Find(k Key) *Entry {
	i, ok := slices.BinarySearchFunc(e, k, (*Entry).Compare)
	if !ok {
		return nil
	}
	return e[i]
}

// title returns the machine's name in messages.
func (m *Machine) title() string {
	if m.Pool {
		return "pool " + m.Name
	}
	return m.Name
}

// AddTo appends the name of a named machine to machines, that of a pool to pools.
func (m *Machine) AddTo(machines, pools *[]string) {
	if m.Pool {
		machines = pools
	}
	*machines = append(*machines, m.Name)
}
