package change

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What happened to a machine, or to an entry of it.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Diff is the difference of two states of a cluster.
type Diff struct {
	// Cluster holds the differences of the cluster as a whole.
	Cluster []Field `json:"cluster,omitempty"`
	// Groups hold every other difference once, with all machines that have it. Groups of many
	// machines come first.
	Groups []Group `json:"groups,omitempty"`

	old, new *Cluster
	machines []*Pair // by name, in the order of the newer state, removed ones last
}

// Group is a set of machines with their common changes.
type Group struct {
	Machines []string `json:"machines"`
	Pools    []string `json:"pools,omitempty"`
	// What is Added or Removed if the machines were added or removed, and else Changed.
	What string `json:"what"`
	// Is describes added or removed machines: role, operating system, platform.
	Is      string   `json:"is,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// Change is what happened to one entry of a machine.
type Change struct {
	Kind   string  `json:"kind"`
	Name   string  `json:"name"`
	What   string  `json:"what"`
	Fields []Field `json:"fields,omitempty"`
}

// States returns the two states.
func (d *Diff) States() (old, new *Cluster) { return d.old, d.new }

// Pairs returns the machines of both states, by name, in the order of the newer state and the
// removed ones last.
func (d *Diff) Pairs() []*Pair { return d.machines }

// Pair is a machine in both states.
type Pair struct {
	Old, New *Machine // one is nil if the machine was added or removed
	Changes  []*Change
}

// Machine returns the newer state, or the older one of a removed machine.
func (p *Pair) Machine() *Machine { return cmp.Or(p.New, p.Old) }

// What returns Added or Removed if one state does not have the machine, and else Changed.
func (p *Pair) What() string {
	switch {
	case p.Old == nil:
		return Added
	case p.New == nil:
		return Removed
	}
	return Changed
}

// Changed reports whether anything differs.
func (d *Diff) Changed() bool { return len(d.Cluster)+len(d.Groups) > 0 }

// Compare returns the difference of two states of a cluster.
func Compare(old, new *Cluster) *Diff {
	d := &Diff{old: old, new: new, machines: pairMachines(old, new)}
	var f List
	f.Value("name", old.Name, new.Name)
	f.Value("UUID", old.UUID, new.UUID)
	f.Value("Kubernetes", old.Version, new.Version)
	for _, name := range propertyNames(old.Properties, new.Properties) {
		f.Value(name, old.Properties.Value(name), new.Properties.Value(name))
	}
	for _, a := range old.Entries {
		b := new.Entries.Find(a.Key)
		if b == nil {
			continue // a state that was read from documents does not have it
		}
		for _, one := range differences(a.Key, a, b) {
			f.Add(strings.TrimSpace(a.ID+" "+one.Name), one.Old, one.New)
		}
	}
	d.Cluster = f

	c := comparer{known: map[[2]*Entry]*Change{}, equal: map[string]*Change{}}
	for _, p := range d.machines {
		if p.What() == Changed {
			p.Changes = c.machine(p)
		}
	}
	d.Groups = groupChanges(d.machines)
	return d
}

// pairMachines returns the machines of both states in pairs of the same name.
func pairMachines(old, new *Cluster) (out []*Pair) {
	type id struct {
		pool bool
		name string
	}
	before := map[id]*Machine{}
	for _, m := range old.Machines {
		before[id{m.Pool, m.Name}] = m
	}
	for _, m := range new.Machines {
		at := id{m.Pool, m.Name}
		out = append(out, &Pair{Old: before[at], New: m})
		delete(before, at)
	}
	for _, m := range old.Machines {
		if before[id{m.Pool, m.Name}] != nil {
			out = append(out, &Pair{Old: m})
		}
	}
	return out
}

// comparer compares machines. It compares entries that many machines share once, and makes one of
// equal changes.
type comparer struct {
	known map[[2]*Entry]*Change
	equal map[string]*Change
}

// machine returns the changes of a machine that is in both states.
func (c *comparer) machine(p *Pair) (out []*Change) {
	var f List
	f.Value("role", p.Old.Role, p.New.Role)
	f.Value("operating system", p.Old.OS, p.New.OS)
	f.Value("platform", p.Old.Platform, p.New.Platform)
	f.Value("format", p.Old.Format, p.New.Format)
	for _, name := range propertyNames(p.Old.Properties, p.New.Properties) {
		f.Value(name, p.Old.Properties.Value(name), p.New.Properties.Value(name))
	}
	if len(f) > 0 {
		out = append(out, c.unique(&Change{Kind: "machine", What: Changed, Fields: f}))
	}
	for _, both := range pairEntries(p.Old.Entries, p.New.Entries) {
		if change := c.entry(both); change != nil {
			out = append(out, change)
		}
	}
	return out
}

// pairEntries returns the old and the new entry of each place, sorted by their keys, without those
// that are equal pointers. One of a pair may be nil. Several entries are of one place if they are
// API objects whose files have equal names but for the number: of these, equal ones are paired
// first.
func pairEntries(old, new Entries) (pairs [][2]*Entry) {
	before := map[Key]Entries{} // by place
	for _, a := range old {
		before[a.place()] = append(before[a.place()], a)
	}
	take := func(b *Entry, found func(a *Entry) bool) bool {
		list := before[b.place()]
		i := slices.IndexFunc(list, found)
		if i < 0 {
			return false
		}
		if list[i] != b {
			pairs = append(pairs, [2]*Entry{list[i], b})
		}
		before[b.place()] = slices.Delete(list, i, i+1)
		return true
	}
	var left Entries
	for _, b := range new {
		if !take(b, b.sameContent) {
			left = append(left, b)
		}
	}
	for _, b := range left {
		if !take(b, func(*Entry) bool { return true }) {
			pairs = append(pairs, [2]*Entry{nil, b})
		}
	}
	for _, list := range before {
		for _, a := range list {
			pairs = append(pairs, [2]*Entry{a})
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]*Entry) int { return keyOf(a).Compare(keyOf(b)) })
	return pairs
}

// keyOf returns the key of the new entry of a pair, or of the old one if there is no other.
func keyOf(both [2]*Entry) Key { return cmp.Or(both[1], both[0]).Key }

// entry returns how one entry changed, or nil.
func (c *comparer) entry(both [2]*Entry) *Change {
	k := keyOf(both)
	if change, ok := c.known[both]; ok {
		return change
	}
	var change *Change
	name := k.place().ID
	switch old, new := both[0], both[1]; {
	case old == nil:
		change = c.unique(&Change{Kind: k.Kind, Name: name, What: Added, Fields: describe(new)})
	case new == nil:
		change = c.unique(&Change{Kind: k.Kind, Name: name, What: Removed})
	default:
		if f := differences(k, old, new); len(f) > 0 {
			change = c.unique(&Change{Kind: k.Kind, Name: name, What: Changed, Fields: f})
		}
	}
	c.known[both] = change
	return change
}

// describe returns the fields that a message about a new entry has.
func describe(t *Entry) []Field {
	var f List
	for _, name := range slices.Sorted(maps.Keys(t.Traits)) {
		f.Value(name, "", t.Traits[name])
	}
	f.Value("secret", "", generationOf(t.Secret))
	return f
}

// unique returns an equal change from before, or the change itself.
func (c *comparer) unique(change *Change) *Change {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%s", change.Kind, change.Name, change.What)
	for _, f := range change.Fields {
		for _, s := range []*string{&f.Name, f.Old, f.New} {
			b.WriteByte(0)
			if s != nil {
				b.WriteString("=" + *s)
			}
		}
	}
	if there := c.equal[b.String()]; there != nil {
		return there
	}
	c.equal[b.String()] = change
	return change
}

// groupChanges returns the changes in groups: changes that the same machines have are one group.
func groupChanges(machines []*Pair) []Group {
	// The machines that have each change, by their indices.
	has := map[*Change][]int{}
	var changes []*Change
	// Added and removed machines, by their description.
	whole := map[string][]int{}
	var kinds []string
	for i, p := range machines {
		if what := p.What(); what != Changed {
			m := p.Machine()
			kind := fmt.Sprintf("%s\x00%s %s %s", what, m.Role, m.OS, m.Platform)
			if whole[kind] == nil {
				kinds = append(kinds, kind)
			}
			whole[kind] = append(whole[kind], i)
		}
		for _, c := range p.Changes {
			if has[c] == nil {
				changes = append(changes, c)
			}
			has[c] = append(has[c], i)
		}
	}
	type group struct {
		Group
		members []int
	}
	var list []*group
	start := func(members []int) *group {
		g := &group{members: members}
		g.What = Changed
		for _, i := range members {
			machines[i].Machine().AddTo(&g.Machines, &g.Pools)
		}
		list = append(list, g)
		return g
	}
	by := map[string]*group{}
	for _, c := range changes {
		members := fmt.Sprint(has[c])
		if by[members] == nil {
			by[members] = start(has[c])
		}
		by[members].Changes = append(by[members].Changes, *c)
	}
	slices.SortStableFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(len(b.members), len(a.members)),
			cmp.Compare(a.members[0], b.members[0]))
	})
	for _, kind := range kinds {
		g := start(whole[kind])
		g.What, g.Is, _ = strings.Cut(kind, "\x00")
	}
	out := make([]Group, len(list))
	for i, g := range list {
		slices.SortStableFunc(g.Changes, func(a, b Change) int {
			return Key{a.Kind, a.Name}.Compare(Key{b.Kind, b.Name})
		})
		out[i] = g.Group
	}
	return out
}

// propertyNames returns the names of the properties of two states, sorted.
func propertyNames(a, b Properties) (names []string) {
	for _, property := range slices.Concat(a, b) {
		names = append(names, property.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
