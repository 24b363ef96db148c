// Package change compares two states of a cluster. It finds what differs on which machine. It never
// shows a secret: a state holds what a review twin shows, and seals that tell whether two secrets
// are the same. It knows the files of a machine and what reads them, and not how they were
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
	// Properties are what the machines' files depend on, such as "service subnets".
	Properties Properties
	// Machines are nodes by name, then pools by name.
	Machines []*Machine
	// Entries has what the cluster has once: the operator's kubeconfig.
	Entries Entries
}

// Machine is one named machine or one pool.
type Machine struct {
	Name, Role, OS, Platform, Format string
	Pool                             bool
	// Twin is the digest of all that a reviewer sees, if the document says it; a dash for a
	// document that somebody edited; and else empty: shown.DigestOf computes it.
	Twin string
	// Properties are what is known beside the files: kubelet, addresses, until.
	Properties Properties
	// Entries are the machine's files, units and so on.
	Entries Entries
}

// Property is a named value of a cluster or of a machine that its twin shows beside the entries.
type Property struct{ Name, Value string }

// Properties are in the order in which they are listed, each name once.
type Properties []Property

// Value returns the value of a property, or the empty string if there is none.
func (p Properties) Value(name string) string {
	for _, property := range p {
		if property.Name == name {
			return property.Value
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
	Seal   Seal              // of a secret's content, in a state that was read from documents
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

// Title returns the machine's name in messages.
func (m *Machine) Title() string {
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

// Has reports whether a machine of the cluster has this name or address.
func (c *Cluster) Has(name string) bool {
	return slices.ContainsFunc(c.Machines, func(m *Machine) bool {
		return !m.Pool && (m.Name == name || slices.Contains(m.Addresses(), name))
	})
}

// Addresses returns the machine's addresses.
func (m *Machine) Addresses() []string { return commas(m.Properties.Value("addresses")) }

// Member reports whether the machine runs a member of etcd.
func (m *Machine) Member() bool {
	return m.Entries.Find(Key{"file", "/etc/kubernetes/manifests/etcd.yaml"}) != nil
}

// Members returns the machines with a member of etcd.
func (c *Cluster) Members() (out []*Machine) {
	for _, m := range c.Machines {
		if m.Member() {
			out = append(out, m)
		}
	}
	return out
}
