package change

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Item is one entry of a machine, for people.
type Item struct {
	Kind, Name string
	Traits     string // mode and owner, a link's target, a unit's state
	Secret     string // name and generation; empty if it is none
	Shown      []string
	Content    []byte // nil if it is not shown
}

// Items returns the entries of a machine, in their order.
func (m *Machine) Items() []Item { return items(m.Entries) }

// Items returns the entries that the cluster has once: the operator's kubeconfig.
func (c *Cluster) Items() []Item { return items(c.Entries) }

func items(entries Entries) (out []Item) {
	for _, t := range entries {
		var traits []string
		for _, name := range slices.Sorted(maps.Keys(t.Traits)) {
			traits = append(traits, t.Traits[name])
		}
		out = append(out, Item{Kind: t.Kind, Name: t.ID,
			Traits: strings.TrimSpace(strings.Join(traits, " ")), Secret: t.Secret, Shown: t.Shown,
			Content: t.Content})
	}
	return out
}

// Certificate is a certificate as a state describes it.
type Certificate struct {
	Name                string // of the secret, without its machine, and its generation
	Subject, Issuer     string
	For                 string // server, client, ca
	Key                 string // its kind
	Names               []string
	Fingerprint         string // of a CA
	NotBefore, NotAfter time.Time
}

// Certificates returns the certificates that an item shows.
func (i *Item) Certificates() (out []Certificate) {
	certs, _ := certificates(i.Shown)
	for _, c := range certs {
		// A twin writes dates only in this form; anything else is no date.
		from, _ := time.Parse(time.RFC3339, c.parts["from"])
		until, _ := time.Parse(time.RFC3339, c.parts["until"])
		out = append(out, Certificate{
			Name: c.generation, Subject: c.parts["subject"], Issuer: c.parts["issuer"],
			For: c.parts["for"], Key: c.parts["key"],
			Names: commas(c.parts["names"]), Fingerprint: c.parts["fingerprint"], NotBefore: from,
			NotAfter: until,
		})
	}
	return out
}

// Member reports whether the machine runs a member of etcd.
func (m *Machine) Member() bool { return m.member() }
