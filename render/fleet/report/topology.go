package report

import (
	"cmp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
)

// zoneLabel is the label of a Node for the zone that it is in
// (https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesiozone).
const zoneLabel = "topology.kubernetes.io/zone"

// topology is the picture of the machines: the endpoint, and places with machines.
type topology struct {
	Endpoint string
	Planes   []string // the control planes that the endpoint leads to
	By       string   // what the places are: zone or role
	Places   []place
	Legend   []mark // all marks in the picture
	Running  []stand
}

// stand is where some machines stand beside the change; none if nobody said what runs.
type stand struct {
	mark
	Names, Why string
}

// stands are the marks of where a machine stands: a word, and the colour of a fate.
var stands = map[string]mark{
	running.Wanted:  {"add", "runs the new document"},
	running.Coming:  {"wait", "is coming"},
	running.Older:   {"same", "runs the older document"},
	running.Unsaid:  {"same", "does not say what it runs"},
	running.Neither: {"remove", "runs an unknown document"},
	running.Absent:  {"same", "has no Node"},
	running.Unseen:  {"same", "never has a Node"},
	running.Foreign: {"remove", "is no machine of the cluster"},
}

// runningOf returns where the machines stand, and the mark of each by its section on the page.
func runningOf(p *rollout.Steps) (list []stand, marks map[string]mark) {
	marks = map[string]mark{}
	if p == nil {
		return nil, marks
	}
	for _, s := range p.Running {
		m := stands[s.Standing]
		names := slices.SortedFunc(slices.Values(slices.Concat(s.Machines, s.Nodes)), natural)
		list = append(list, stand{m, change.Names(names, nil), s.Why})
		for _, name := range s.Machines {
			marks[nodeID(name)] = m
		}
	}
	return list, marks
}

// place is a zone, a role or the pools, with its machines.
type place struct {
	Title string
	Cards []card
}

// manyCards is from how many machines on a place has small cards.
const manyCards = 25

// Many reports whether the place has so many machines that their cards are small.
func (p place) Many() bool { return len(p.Cards) >= manyCards }

// card is a machine in the picture. Its first mark gives it its colour.
type card struct {
	Name, ID, Role, Address string
	Pool, Etcd, Gone        bool
	Before                  string
	Marks                   []mark
	Stands                  *mark // what it runs; nil if nobody said it
	Steps                   []int
}

// Class returns the class of the card's colour.
func (c card) Class() string {
	if len(c.Marks) == 0 {
		return "same"
	}
	return c.Marks[0].Class
}

// roles are the roles of machines in their order in a place, each with its words.
var roles = []struct{ role, one, many string }{
	{control, "control plane", "Control planes"},
	{"etcd", "etcd", "etcd machines"},
	{"worker", "worker", "Workers"},
}

// roleIndex returns the place of a role among roles; one that is not there comes last.
func roleIndex(role string) int {
	for i, r := range roles {
		if r.role == role {
			return i
		}
	}
	return len(roles)
}

// roleWords returns the words for machines of a role: for one, and as a title of several.
func roleWords(role string) (one, many string) {
	if i := roleIndex(role); i < len(roles) {
		return roles[i].one, roles[i].many
	}
	return role, role
}

// topologyOf returns the picture of a cluster, with the machines that a change removes.
func topologyOf(in *Input) topology {
	machines := slices.Clone(in.Cluster.Machines)
	gone := map[*change.Machine]bool{}
	if in.Diff != nil {
		for _, m := range in.Diff.Removed() {
			gone[m] = true
			machines = append(machines, m)
		}
	}
	slices.SortStableFunc(machines, func(a, b *change.Machine) int {
		return cmp.Or(cmp.Compare(roleIndex(a.Role), roleIndex(b.Role)), natural(a.Name, b.Name))
	})
	t := topology{By: "role",
		Endpoint: strings.TrimPrefix(in.Cluster.Properties.Value("endpoint"), "https://")}
	if slices.ContainsFunc(machines, func(m *change.Machine) bool {
		return !m.Pool && m.Label(zoneLabel) != ""
	}) {
		t.By = "zone"
	}
	happens := fatesOf(in.Steps)
	list, marks := runningOf(in.Steps)
	t.Running = list
	for _, m := range machines {
		c := cardOf(m, happens[anchor(m)])
		if mark, ok := marks[anchor(m)]; ok {
			c.Stands = &mark
		}
		if c.Gone = gone[m]; c.Gone {
			c.ID = "" // it has no section
		} else if m.Role == control {
			t.Planes = append(t.Planes, m.Name)
		}
		t.add(placeOf(m, t.By), c)
	}
	if t.By == "zone" {
		slices.SortStableFunc(t.Places, func(a, b place) int {
			return cmp.Or(rank(a)-rank(b), natural(a.Title, b.Title))
		})
	}
	slices.SortStableFunc(t.Legend, func(a, b mark) int { return fateIndex(a) - fateIndex(b) })
	return t
}

// Titles of places that are neither a zone nor a role.
const (
	pools  = "Pools"
	noZone = "No zone"
)

// rank puts zones first, by name, then machines without one, and pools last.
func rank(p place) int { return slices.Index([]string{noZone, pools}, p.Title) }

// placeOf returns the title of the place that a machine is in.
func placeOf(m *change.Machine, by string) string {
	_, many := roleWords(m.Role)
	switch {
	case m.Pool:
		return pools
	case by == "role":
		return many
	}
	return cmp.Or(m.Label(zoneLabel), noZone)
}

func (t *topology) add(title string, c card) {
	i := slices.IndexFunc(t.Places, func(p place) bool { return p.Title == title })
	if i < 0 {
		i = len(t.Places)
		t.Places = append(t.Places, place{Title: title})
	}
	t.Places[i].Cards = append(t.Places[i].Cards, c)
	for _, m := range c.Marks {
		if !slices.Contains(t.Legend, m) {
			t.Legend = append(t.Legend, m)
		}
	}
}

// cardOf returns the card of a machine; happens is nil if nothing is compared.
func cardOf(m *change.Machine, happens *fate) card {
	c := card{Name: m.Name, ID: anchor(m), Pool: m.Pool, Etcd: m.Member() && m.Role != "etcd"}
	c.Role, _ = roleWords(m.Role)
	c.Address = strings.ReplaceAll(m.Properties.Value("addresses"), ",", " ")
	if m.Pool {
		c.Address = m.Label(zoneLabel)
	}
	if happens != nil {
		c.Marks, c.Before, c.Steps = []mark{happens.mark}, happens.Before, happens.Steps
	}
	return c
}
