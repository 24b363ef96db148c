package report

import (
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/twin/change"
)

// mark is one word about a machine, and the class that gives it its colour.
type mark struct{ Class, Word string }

// fates are the marks of what happens to a machine in a change, in the order of the summary.
var fates = []struct {
	verdict string
	mark
	done string // of several machines
	rare bool   // it is counted only if there is such a machine
}{
	{rollout.Wait, mark{"wait", "wait"}, "waited for", true},
	{rollout.Add, mark{"add", "add"}, "added", false},
	{rollout.Replace, mark{"replace", "replace"}, "replaced", false},
	{rollout.Remove, mark{"remove", "remove"}, "removed", false},
	{rollout.Restart, mark{"live", "restart"}, "restarted", true},
	{rollout.Live, mark{"live", "live"}, "changed live", false},
	{rollout.NextReplacement, mark{"later", "next replacement"}, "next replacement", true},
	{rollout.Nothing, mark{"same", "unchanged"}, "unchanged", false},
}

// fateOf returns the mark of a verdict.
func fateOf(verdict string) mark {
	for _, f := range fates {
		if f.verdict == verdict {
			return f.mark
		}
	}
	return mark{}
}

// fateIndex returns the place of a mark among fates; others come last.
func fateIndex(m mark) int {
	for i, f := range fates {
		if f.mark == m {
			return i
		}
	}
	return len(fates)
}

// fate is what a change does to one machine.
type fate struct {
	mark
	Before string // the day before which it is to be done; empty if there is none
	Steps  []int  // the numbers of the steps that concern it
}

// fatesOf returns the fate of each machine, by the ID of its section on the page.
func fatesOf(p *rollout.Steps) map[string]*fate {
	out := map[string]*fate{}
	if p == nil {
		return out
	}
	for _, v := range p.Machines {
		for _, id := range idsOf(v.Machines, v.Pools) {
			out[id] = &fate{mark: fateOf(v.Verdict), Before: v.Before}
		}
	}
	for i, s := range p.List {
		for _, id := range idsOf(s.Machines, s.Pools) {
			if f := out[id]; f != nil {
				f.Steps = append(f.Steps, i+1)
			}
		}
	}
	return out
}

// idsOf returns the IDs of machines and pools on the page.
func idsOf(machines, pools []string) (ids []string) {
	for _, name := range machines {
		ids = append(ids, nodeID(name))
	}
	for _, name := range pools {
		ids = append(ids, poolID(name))
	}
	return ids
}

func nodeID(name string) string { return "node-" + name }
func poolID(name string) string { return "pool-" + name }

// anchor returns the ID of a machine's section on the page.
func anchor(m *change.Machine) string {
	if m.Pool {
		return poolID(m.Name)
	}
	return nodeID(m.Name)
}

// ID returns the ID of the machine's section on the page.
func (m machineView) ID() string { return anchor(m.Machine) }
