package change

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Item is one thing of a machine, for people to look at.
type Item struct {
	Kind, Name string
	Traits     string // mode and owner, a link's target, a unit's state
	Secret     string // name and generation; empty if it is none
	Shown      []string
	Content    []byte // nil if it is not shown
}

// Items are the things of a machine, in the order of an INDEX.
func (m *Machine) Items() []Item { return items(m.Entries) }

// Items are the things that the cluster has once: the operator's kubeconfig.
func (c *Cluster) Items() []Item { return items(c.Entries) }

func items(entries Entries) (out []Item) {
	for _, t := range entries {
		var traits []string
		for _, name := range slices.Sorted(maps.Keys(t.Traits)) {
			traits = append(traits, t.Traits[name])
		}
		out = append(out, Item{Kind: t.Kind, Name: t.ID, Traits: strings.TrimSpace(strings.Join(traits, " ")), Secret: t.Secret, Shown: t.Shown, Content: t.Content})
	}
	return out
}

// Certificate is what a state says of one.
type Certificate struct {
	Name                string // of the secret, without its machine, and its generation
	Subject, Issuer     string
	For                 string // server, client, ca
	Key                 string // its kind
	Names               []string
	Fingerprint         string // of a CA
	NotBefore, NotAfter time.Time
}

// Certificates are those that an item shows.
func (i *Item) Certificates() (out []Certificate) {
	certs, _ := certificates(i.Shown)
	for _, c := range certs {
		// A twin writes dates in this form alone; another is none.
		from, _ := time.Parse(time.RFC3339, c.parts["from"])
		until, _ := time.Parse(time.RFC3339, c.parts["until"])
		out = append(out, Certificate{
			Name: c.generation, Subject: c.parts["subject"], Issuer: c.parts["issuer"], For: c.parts["for"], Key: c.parts["key"],
			Names: commas(c.parts["names"]), Fingerprint: c.parts["fingerprint"], NotBefore: from, NotAfter: until,
		})
	}
	return out
}

// Member says that the machine carries a member of etcd.
func (m *Machine) Member() bool { return m.member() }
