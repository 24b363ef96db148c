package running

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/twin/change"
)

// Running is what runs.
type Running struct {
	Nodes []Node
	// Earlier are states before the older one, the earliest first: a machine that needed nothing
	// of a change may still run one of their documents.
	Earlier []*change.Cluster
	// Done are machines that are as the newer state wants them, although no Node says so: they run
	// its document, or are gone.
	Done []string
	// Remembered are more of them, of which a program has noted it for this state. One that its
	// Node contradicts counts for nothing.
	Remembered []string
	// Objects is the digest of the API objects that were applied last, as the marker in the API has
	// it; empty if it is not known.
	Objects string
	// Digest returns the digest of a machine's review twin.
	Digest func(*change.Machine) string
}

// Observation is what runs, put beside two states.
type Observation struct {
	List []Standing
	// Runs is the cluster as it runs: of each machine the state whose document it runs. The cluster
	// as a whole is in the earliest state that a machine runs.
	Runs *change.Cluster
	// Ran are the older states of which a machine runs its document.
	Ran []*change.Cluster

	*Running
	old, new  *change.Cluster
	base      int              // the index in Earlier of the earliest state that a machine runs
	machines  map[string]*Node // Nodes of named machines
	pools     map[string][]*Node
	foreign   []stranger
	digests   map[*change.Machine]string
	was       map[id][]past // the machines of Earlier, the latest first
	seen      map[id]*Seen
	done      map[string]bool // machines of Done, and of Remembered
	allWanted bool
}

// stranger is a Node that is no machine of both states, and what is known of it.
type stranger struct {
	*Node
	why string
}

// id identifies a machine of both states.
type id struct {
	pool bool
	name string
}

func idOf(m *change.Machine) id { return id{m.Pool, m.Name} }

// Observe finds where each machine of two states stands. It fails if no Node is a machine of a
// state, or none is a control plane of the older one, and if a machine of Done is in no state or
// has a Node that says something else.
func Observe(d *change.Diff, r *Running) (*Observation, error) {
	o := &Observation{
		Running: r, machines: map[string]*Node{}, pools: map[string][]*Node{},
		digests: map[*change.Machine]string{}, seen: map[id]*Seen{}, done: map[string]bool{},
		allWanted: true,
	}
	o.old, o.new = d.States()
	o.base = len(r.Earlier)
	all := slices.Concat(r.Earlier, []*change.Cluster{o.old, o.new})
	named, pools := map[string]bool{}, map[string]id{}
	for _, c := range all {
		for _, m := range c.Machines {
			named[m.Name] = named[m.Name] || !m.Pool
			if m.Pool {
				pools[o.digest(m)] = idOf(m)
			}
		}
	}
	paired := map[id]*change.Pair{}
	for _, p := range d.Pairs() {
		paired[idOf(p.Machine())] = p
	}
	known := false
	for i := range r.Nodes {
		n := &r.Nodes[i]
		pool, isPool := pools[n.Twin]
		known = known || named[n.Name] || isPool
		switch {
		case paired[id{false, n.Name}] != nil:
			o.machines[n.Name] = n
		case named[n.Name], isPool && paired[pool] == nil:
			o.foreign = append(o.foreign, stranger{n, "an earlier state had it"})
		case isPool:
			o.pools[pool.name] = append(o.pools[pool.name], n)
		case len(pools) > 0:
			o.foreign = append(o.foreign, stranger{n, "it may be a machine of a pool, with a " +
				"document of no state that was named: then replace it too"})
		default:
			o.foreign = append(o.foreign, stranger{n, ""})
		}
	}
	if err := o.requireControlPlane(); known && err != nil {
		return nil, err
	}
	if !known {
		return nil, errors.New("no Node is a machine of these states: the Nodes are those of " +
			"another cluster, or only some of its Nodes")
	}
	for i, name := range slices.Concat(r.Done, r.Remembered) {
		n := o.machines[name]
		isWanted := slices.ContainsFunc(o.new.Machines, func(m *change.Machine) bool {
			return idOf(m) == id{false, name}
		})
		no := ""
		switch {
		case !named[name]:
			no = "no state has a machine of this name"
		case n != nil && n.Twin != "" && !o.isAmbiguous(paired[id{false, name}], n):
			no = "its Node says what it runs; leave it out"
		case n != nil && !isWanted:
			no = "it is to be removed, and its Node is there"
		default:
			o.done[name] = true
		}
		if no != "" && i < len(r.Done) {
			return nil, fmt.Errorf("--done %s: %s", name, no)
		}
	}
	o.Runs = o.place(d)
	return o, nil
}

// requireControlPlane fails if the older state has control planes, and there is no Node of one: the
// plan would add machines that run.
func (o *Observation) requireControlPlane() error {
	missing := false
	for _, m := range o.old.Machines {
		if m.Role == node.ControlPlane {
			if o.machines[m.Name] != nil {
				return nil
			}
			missing = true
		}
	}
	if missing {
		return errors.New("no Node is a control plane of these states: the list has only some of " +
			"the Nodes; make it with: kubectl get nodes -o json")
	}
	return nil
}

func (o *Observation) digest(m *change.Machine) string {
	if o.digests[m] == "" {
		o.digests[m] = o.Digest(m)
	}
	return o.digests[m]
}

// place finds where each machine stands, and returns the cluster as it runs.
func (o *Observation) place(d *change.Diff) *change.Cluster {
	var list []*change.Machine
	for _, p := range d.Pairs() {
		stands := o.machine
		if p.Machine().Pool {
			stands = o.pool
		}
		m, s := stands(p)
		o.seen[idOf(p.Machine())] = s
		if m != nil {
			list = append(list, m)
		}
		if m != p.New || s.Standing == Neither {
			o.allWanted = false
		}
	}
	for _, n := range o.foreign {
		o.note(Foreign, n.why, "", n.Name)
	}
	slices.SortStableFunc(o.List, func(a, b Standing) int {
		return cmp.Compare(slices.Index(standings, a.Standing),
			slices.Index(standings, b.Standing))
	})
	states := slices.Concat(o.Earlier, []*change.Cluster{o.old, o.new})
	asRuns := *states[o.base]
	if o.allWanted {
		asRuns = *o.new
	}
	runs := map[*change.Machine]bool{}
	for _, m := range list {
		runs[m] = true
	}
	for _, c := range slices.Backward(states) {
		for _, m := range c.Machines {
			if runs[m] && m.Role == node.ControlPlane {
				// Workers may be behind for minors: Kubernetes is the earliest of a control plane.
				asRuns.Version = c.Version
			}
		}
		if c != o.new && slices.ContainsFunc(c.Machines, func(m *change.Machine) bool {
			return runs[m]
		}) {
			o.Ran = append(o.Ran, c)
		}
	}
	asRuns.Machines = list
	return &asRuns
}

// note adds a machine or a Node of a pool to those that stand in the same place for the same
// reason.
func (o *Observation) note(standing, why, machine, node string) {
	i := slices.IndexFunc(o.List, func(s Standing) bool {
		return s.Standing == standing && s.Why == why
	})
	if i < 0 {
		i = len(o.List)
		o.List = append(o.List, Standing{Standing: standing, Why: why})
	}
	if machine != "" {
		o.List[i].Machines = append(o.List[i].Machines, machine)
	} else {
		o.List[i].Nodes = append(o.List[i].Nodes, node)
	}
}

// machine returns what a named machine runs, nil if nothing, and where it stands.
func (o *Observation) machine(p *change.Pair) (*change.Machine, *Seen) {
	name, n := p.Machine().Name, o.machines[p.Machine().Name]
	s, runs := &Seen{Before: p.Old != nil}, p.Old
	switch {
	case o.done[name] && p.New == nil:
		return nil, s
	case o.done[name]:
		s.Standing, runs = Wanted, p.New
	case p.Machine().Role == node.Etcd:
		s.Standing = Unseen
	case n == nil:
		s.Standing, runs = Absent, nil
		if p.New == nil {
			return nil, s // it is gone, as the newer state wants it
		}
	case o.isAmbiguous(p, n):
		s.Standing, s.Why = Unsaid, secretsAlone+"; --done NAME when it runs the newer one"
	case p.New != nil && n.Twin == o.digest(p.New):
		s.Standing, runs = Wanted, p.New
		if isComing(n, p.New) {
			s.Standing, s.Why = Coming, unfinished(n)
		}
	case p.Old != nil && n.Twin == "":
		s.Standing = Unsaid
	case p.Old != nil && n.Twin == o.digest(p.Old):
		s.Standing = Older
	default:
		was, _ := o.earlier(p.Machine(), n.Twin)
		if s.Standing, runs = Older, was; was == nil {
			s.Standing, s.Why = Neither, rootsIn(n)
			runs = other(cmp.Or(p.Old, p.New), n)
		}
	}
	if n != nil && !n.Ready && s.Standing != Coming {
		s.Down = true
		s.Why = joined(s.Why, "its Node is not Ready")
	}
	o.note(s.Standing, s.Why, name, "")
	return runs, s
}

// other returns a machine that runs a document which nobody knows: a copy of m, with the kubelet
// that the Node has.
func other(m *change.Machine, n *Node) *change.Machine {
	out := *m
	out.Properties = slices.Clone(m.Properties)
	for i := range out.Properties {
		if out.Properties[i].Name == "kubelet" {
			out.Properties[i].Value = n.Kubelet
		}
	}
	return &out
}

// pool returns what the machines of a pool run, and where they stand: the earliest document that
// one of them has. A pool without machines has the newer document, unless a Node that does not say
// what it runs may be one.
func (o *Observation) pool(p *change.Pair) (*change.Machine, *Seen) {
	s, runs := &Seen{Standing: Wanted}, p.New
	earliest := len(o.Earlier)
	for _, n := range o.pools[p.Machine().Name] {
		switch {
		case o.isAmbiguous(p, n):
			if s.Standing == Wanted {
				runs = p.Old
			}
			s.Standing = Unsaid
			s.Nodes = append(s.Nodes, n.Name)
			o.note(Unsaid, secretsAlone, "", n.Name)
		case p.New != nil && n.Twin == o.digest(p.New):
			standing, why := Wanted, ""
			if isComing(n, p.New) {
				standing, why = Coming, unfinished(n)
				s.Why = joined(s.Why, n.Name+": "+why)
				s.Coming = append(s.Coming, n.Name)
			}
			o.note(standing, why, "", n.Name)
		default:
			if was, i := o.earlier(p.Machine(), n.Twin); i < earliest {
				earliest, runs = i, was
			} else if s.Standing == Wanted {
				runs = p.Old
			}
			s.Standing = Older
			s.Nodes = append(s.Nodes, n.Name)
			o.note(Older, "", "", n.Name)
		}
	}
	if s.Standing == Wanted && s.Why != "" {
		s.Standing = Coming
	}
	if len(o.pools[p.Machine().Name]) > 0 {
		return runs, s
	}
	switch isSilent := func(n stranger) bool { return n.Twin == "" }; {
	case p.Old == nil:
		s.Standing, runs = Absent, nil
	case slices.ContainsFunc(o.foreign, isSilent):
		s.Standing, runs = Unsaid, p.Old
	}
	return runs, s
}

// isComing reports whether others wait for a machine that runs its newer document: its hook is not
// done, or it is a control plane whose Node is not Ready. A worker that was done and is not Ready
// keeps nobody waiting.
func isComing(n *Node, m *change.Machine) bool {
	return !n.SaysDone() || !n.Ready && m.Role == node.ControlPlane
}

// unfinished says why a machine with the newer document is not done.
func unfinished(n *Node) string {
	why := ""
	if !n.SaysDone() {
		why = "its hook says: " + cmp.Or(n.Hook, "nothing")
	}
	if !n.Ready {
		why = joined(why, "its Node is not Ready")
	}
	return why
}

// rootsIn says in which state a document has the roots that were rotated.
func rootsIn(n *Node) (text string) {
	for _, root := range pki.Roots() {
		if r, ok := n.Roots[root]; ok {
			text = joined(text, fmt.Sprintf("%s is %s", root, r.String()))
		}
	}
	return text
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Of returns where a machine stands. It is nil for one that is gone, as the newer state wants it.
func (o *Observation) Of(m *change.Machine) *Seen { return o.seen[idOf(m)] }

// nodesOf returns the Nodes of a machine or pool.
func (o *Observation) nodesOf(m *change.Machine) []*Node {
	if m.Pool {
		return o.pools[m.Name]
	}
	if n := o.machines[m.Name]; n != nil {
		return []*Node{n}
	}
	return nil
}

// Lacking returns the Nodes of a machine or pool of which something does not hold, and whether
// there are Nodes at all.
func (o *Observation) Lacking(
	m *change.Machine, holds func(*Node) bool,
) (names []string, any bool) {
	list := o.nodesOf(m)
	for _, n := range list {
		if !holds(n) {
			names = append(names, n.Name)
		}
	}
	return names, len(list) > 0
}

// Has reports whether there are Nodes of a machine or pool.
func (o *Observation) Has(m *change.Machine) bool { return len(o.nodesOf(m)) > 0 }

// Cordoned returns the Nodes of a machine or pool that run the newer document, are done, and take
// no pods.
func (o *Observation) Cordoned(m *change.Machine) (names []string) {
	list := o.nodesOf(m)
	for _, now := range o.new.Machines {
		for _, n := range list {
			if idOf(now) == idOf(m) && n.Twin == o.digest(now) && n.Cordoned && !isComing(n, now) {
				names = append(names, n.Name)
			}
		}
	}
	return names
}
