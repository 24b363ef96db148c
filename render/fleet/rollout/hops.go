// This file plans upgrades over several states. The API servers of a cluster are at most one minor
// of Kubernetes apart, so an upgrade by several is one hop after the other.

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
)

// State is a state of a cluster with the name that the user gave it.
type State struct {
	Name string // a word for a shell
	Kept string // the name of the copy that people keep of it; empty if it stays where it is
	*change.Cluster
	Documents string // the folder that it is; empty if the user named another form
}

// Since returns the name for kiln apply, which people give after the newest state was rendered.
func (s *State) Since() string { return cmp.Or(s.Kept, s.Name) }

// Hops has the steps of each hop, in their order.
type Hops struct {
	List []*Steps `json:"hops"`
}

// Refused reports whether a hop is refused.
func (h *Hops) Refused() bool {
	return slices.ContainsFunc(h.List, func(p *Steps) bool { return len(p.Refused) > 0 })
}

// Text returns the steps for people.
func (h *Hops) Text(form change.Form) string {
	var list []string
	for _, p := range h.List {
		list = append(list, p.Text(form))
	}
	return strings.Join(list, "\n")
}

// NewHops returns the steps from each state to the next one, as if every machine ran the first. An
// override counts in each hop that is refused for it. It is an error if no hop is.
func NewHops(states []State, o Options) (*Hops, error) {
	h := &Hops{}
	for i := 1; i < len(states); i++ {
		hop := o
		hop.Since, hop.isHop = []string{states[i-1].Since()}, true
		hop.Now, hop.follows = states[i].Name, i < len(states)-1
		hop.Documents = states[i].Documents
		p, err := New(change.Compare(states[i-1].Cluster, states[i].Cluster), hop)
		if err != nil {
			return nil, err
		}
		p.Hop = hopName(states, i)
		h.List = append(h.List, p)
	}
	for _, name := range o.Force {
		if !slices.ContainsFunc(h.List, func(p *Steps) bool { return has(p.Forced, name) }) {
			return nil, fmt.Errorf("--force %s: no hop is refused for it; leave it out", name)
		}
	}
	return h, nil
}

// Next returns the steps from what runs to the newest state that is at most one minor ahead of it.
// Later states wait. A machine that runs one of these already does not go back, and no state before
// the newest is the next if that one takes an upgrade back.
func Next(states []State, o Options) (*Steps, error) {
	newest := states[len(states)-1]
	several, back := false, false
	for _, s := range states {
		several = several || minor(s.Version) < minor(newest.Version)-1
		back = back || minor(s.Version) > minor(newest.Version)
	}
	for last := len(states) - 1; ; last-- {
		hop, r := o, *o.Running
		r.Nodes = slices.Clone(r.Nodes)
		comeDown(r.Nodes, states, last, r.Digest)
		if o.Remembered != nil {
			r.Remembered = o.Remembered(states[last].Cluster)
		}
		hop.Running, hop.Since, hop.Documents = &r, nil, states[last].Documents
		if several {
			hop.Now, hop.follows = states[last].Name, last < len(states)-1
		}
		for i := range states[:last] {
			hop.Since = append(hop.Since, states[i].Since())
			if i < last-1 {
				r.Earlier = append(r.Earlier, states[i].Cluster)
			}
		}
		p, err := New(change.Compare(states[last-1].Cluster, states[last].Cluster), hop)
		if err != nil || last == 1 || !several || back || !has(p.Refused, "version") ||
			isAhead(states, last, o.Running) {
			if err == nil && several {
				p.Hop = hopName(states, last)
			}
			return p, err
		}
	}
}

// comeDown changes the Nodes of workers that run a document of a later state than the last one, as
// if they ran that of the last one. So a worker that is ahead stays until the others come.
func comeDown(nodes []running.Node, states []State, last int, digest func(*change.Machine) string) {
	later := map[string]bool{}
	for _, s := range states[last+1:] {
		for _, m := range s.Machines {
			later[digest(m)] = m.Role == worker && !m.Pool
		}
	}
	for _, m := range states[last].Machines {
		for i := range nodes {
			if n := &nodes[i]; later[n.Twin] && n.Name == m.Name {
				n.Twin = digest(m)
			}
		}
	}
}

// isAhead reports whether a control plane runs its document of the state i, and that document is in
// no earlier state.
func isAhead(states []State, i int, r *running.Running) bool {
	first := map[string]int{} // the index of the first state by the digest
	for at, s := range states {
		for _, m := range s.Machines {
			digest := r.Digest(m)
			if _, known := first[digest]; !known && m.Role == controlPlane {
				first[digest] = at
			}
		}
	}
	return slices.ContainsFunc(r.Nodes, func(n running.Node) bool {
		at, known := first[n.Twin]
		return known && at == i
	})
}

// hopName says which hop leads to a state.
func hopName(states []State, i int) string {
	a, b := states[i-1], states[i]
	return fmt.Sprintf("%d of %d: %s → %s, Kubernetes %s → %s", i, len(states)-1, a.Name, b.Name,
		a.Version, b.Version)
}
