package secret

import (
	"kiln.dev/kiln/render/plan"
)

// Worth says how much a thief can do with a secret. A greater one includes the smaller ones.
type Worth int

// Worths, from little to much.
const (
	None      Worth = iota // no secret
	OfMachine              // be this machine, or one of its programs
	OfJoin                 // join machines
	OfCluster              // own the cluster
)

// worths holds for each Worth its name, which is the value of maxExposure, and what such secrets
// are.
var worths = []struct{ name, secrets string }{
	None:      {"none", "no secret"},
	OfMachine: {"machine", "keys of that machine, or secrets of yours"},
	OfJoin:    {"join", "a bootstrap token"},
	OfCluster: {"cluster", "keys to the whole cluster"},
}

// String returns the value of maxExposure.
func (w Worth) String() string { return worths[w].name }

// Secrets returns what secrets of that worth are, for a message.
func (w Worth) Secrets() string { return worths[w].secrets }

// ParseWorth returns the Worth with that name, and whether there is one.
func ParseWorth(name string) (w Worth, ok bool) {
	for i := range worths {
		if worths[i].name == name {
			return Worth(i), true
		}
	}
	return None, false
}

// WorthOf returns the greatest worth of the secrets that m must hold.
func WorthOf(c *Cluster, m *plan.Machine) (most Worth) {
	for i := range Kinds {
		if k := &Kinds[i]; k.Worth > most && len(k.Holdings(c, m)) > 0 {
			most = k.Worth
		}
	}
	return most
}
