package running

import (
	"slices"

	"kiln.dev/kiln/render/twin/change"
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
