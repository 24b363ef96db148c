// Package review writes and reads what people may see of a cluster: the review twin, which is a
// folder that is safe for git and can be compared, and the contents of an unpacked document.
// Nothing in a twin is computed from a secret.
package review

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// Twin collects the state of a cluster, machine by machine, as a reviewer may see it.
type Twin struct {
	cluster *change.Cluster
	sealed  bool // the contents of the secrets are there, as in documents

	mu      sync.Mutex
	entries map[entryKey]*change.Entry // each entry of any machine once
}

// entryKey identifies an entry: two entries with the same key are equal.
type entryKey struct {
	lines   string // of the INDEX
	content [sha256.Size]byte
	seal    change.Seal
}

// NewTwin returns the twin of a cluster. Its machines have no entries until Add brings them.
func NewTwin(c *assembly.Cluster) (*Twin, error) {
	t := newTwin(&change.Cluster{
		Name: c.Plan.Name, UUID: c.Public.Cluster, Version: c.Plan.Version,
	}, append(c.Plan.Overview(), c.Public.Facts()...))
	admin, err := adminEntry(c)
	if err != nil {
		return nil, err
	}
	t.cluster.Entries = change.Entries{admin}
	for i := range c.Machines() {
		m := &c.Plan.Machines[i]
		t.addMachine(plannedMachine(c.Plan, m, c.Public.ValidUntil(c.Plan, m)))
	}
	return t, nil
}

func newTwin(c *change.Cluster, facts []plan.Fact) *Twin {
	for _, f := range facts {
		c.Properties = append(c.Properties, change.Property(f))
	}
	return &Twin{cluster: c, entries: map[entryKey]*change.Entry{}}
}

// addMachine adds a machine without entries.
func (t *Twin) addMachine(m *change.Machine) {
	t.cluster.Machines = append(t.cluster.Machines, m)
}

// Add adds the entries of the i-th machine. It may be called from several goroutines. Equal entries
// are kept once. It fails for a file at /INDEX, since the twin has a list of its own there.
func (t *Twin) Add(i int, n *node.Node) error {
	list := nodeEntries(n)
	if t.sealed {
		seal(list, n)
	}
	keys := make([]entryKey, len(list))
	for j, e := range list {
		keys[j] = entryKey{lines: entryLines(e), content: sha256.Sum256(e.Content),
			seal: e.Seal}
		if e.Kind == "file" && e.Content != nil && e.ID == "/"+IndexFile {
			return fmt.Errorf("file %s: the review twin keeps its list of files under this name; "+
				"choose another path", e.ID)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for j, e := range list {
		if same := t.entries[keys[j]]; same != nil {
			list[j] = same
			continue
		}
		t.entries[keys[j]] = e
	}
	slices.SortFunc(list, compareEntries)
	m := t.cluster.Machines[i]
	m.Twin, m.Entries = listedDigest(n), slices.Compact(list)
	return nil
}

// seal gives the entries of secrets the seals of their contents.
func seal(list change.Entries, n *node.Node) {
	secrets := map[string]*node.File{}
	for i := range n.Files {
		if f := &n.Files[i]; f.Secret != "" {
			secrets[f.Path] = f
		}
	}
	for _, e := range list {
		if f := secrets[e.ID]; f != nil && e.Kind == "file" {
			e.Seal = change.SealOf(f.Content)
		}
	}
}

// State returns the cluster with all that was added so far.
func (t *Twin) State() *change.Cluster { return t.cluster }

// Files returns the twin by the paths below its folder.
func (t *Twin) Files() map[string][]byte { return Write(t.cluster) }

// Folders returns the paths of the folders that the twin has below its own.
func (t *Twin) Folders() []string {
	folders := []string{sharedFolder}
	for _, m := range t.cluster.Machines {
		folders = append(folders, plan.Folder(m.Name, m.Pool))
	}
	return folders
}

// adminEntry returns the entry of the operator's kubeconfig, which is on no machine.
func adminEntry(c *assembly.Cluster) (*change.Entry, error) {
	spec := c.Public.AdminSpec(c.Plan)
	cert, err := c.Public.Template(spec)
	if err != nil {
		return nil, err
	}
	mark := c.Public.Mark(spec.Name)
	return &change.Entry{
		Key:    change.Key{Kind: "file", ID: plan.AdminFile},
		Traits: map[string]string{"server": c.Plan.EndpointURL()},
		Secret: mark, Shown: []string{"certificate " + mark + ": " + pki.Summary(cert)},
	}, nil
}
