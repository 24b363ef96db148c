package secret

import (
	"fmt"
	"strings"

	"kiln/render/plan"
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

// worths describes each Worth: its name, which is the value of maxExposure, what the secrets are,
// and what a thief can do with them.
var worths = []struct{ name, secrets, permits string }{
	None: {"none", "no secret", "learn names, addresses, versions and settings"},
	OfMachine: {
		"machine", "keys of that machine, or secrets of yours",
		"be that kubelet or that program: a kubelet reads the Secrets of the pods on its Node; " +
			"kiln does not know what your own files and Secrets open",
	},
	OfJoin: {
		"join", "a bootstrap token",
		"join machines until the token ends, and so be any kubelet that is no control plane's",
	},
	OfCluster: {
		"cluster", "keys to the whole cluster",
		"own the cluster: sign or take any identity, or read and write all of etcd",
	},
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

// WorthPage returns the table of worths as docs/exposure.md shows it, in Markdown.
func WorthPage() string {
	var b strings.Builder
	b.WriteString("| `maxExposure` | secrets | a thief can |\n|---|---|---|\n")
	for i, w := range worths {
		var names []string
		for j := range Kinds {
			if k := &Kinds[j]; k.Worth == Worth(i) {
				names = append(names, "`"+k.Name+"`")
			}
		}
		secrets := w.secrets
		if len(names) > 0 {
			secrets += ": " + strings.Join(names, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", w.name, secrets, w.permits)
	}
	return b.String()
}
