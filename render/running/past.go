package running

import (
	"slices"

	"kiln/render/change"
	"kiln/render/node"
)

// past is a machine of an earlier state, and the index of the state.
type past struct {
	*change.Machine
	state int
}

// earlier returns the machine of an earlier state that has this digest, and the index of the state;
// nil if there is none.
func (o *Observation) earlier(m *change.Machine, twin string) (*change.Machine, int) {
	if o.was == nil {
		o.was = map[id][]past{}
		for i, c := range slices.Backward(o.Earlier) {
			for _, m := range c.Machines {
				o.was[idOf(m)] = append(o.was[idOf(m)], past{m, i})
			}
		}
	}
	for _, p := range o.was[idOf(m)] {
		if o.digest(p.Machine) == twin {
			o.base = min(o.base, p.state)
			return p.Machine, p.state
		}
	}
	return nil, len(o.Earlier)
}

// earliest returns the index of the earliest state whose document a control plane runs; -1 if none
// runs a document of a state.
func earliest(states []*change.Cluster, runs []*change.Machine) int {
	return slices.IndexFunc(states, func(c *change.Cluster) bool {
		return slices.ContainsFunc(c.Machines, func(m *change.Machine) bool {
			return m.Role == node.ControlPlane && slices.Contains(runs, m)
		})
	})
}
