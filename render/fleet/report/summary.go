package report

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// summary is what the top of the page says.
type summary struct {
	Tiles []tile
	// Fates are the machines by what happens to them, and Reasons by why too; empty if nothing is
	// compared.
	Fates, Reasons []group
	// Order are the steps in one line each.
	Order []stepView
}

// tile is one figure.
type tile struct {
	Class       string // of its colour; empty for none
	Value, Name string
	Note        string
	Zero, Wide  bool
}

// group is all machines with the same fate.
type group struct {
	mark
	Who    string
	Before string
	Why    []string
}

// summaryOf returns the summary of a page whose other figures are known.
func summaryOf(v *view) (s summary) {
	s.Order = v.List
	if v.Steps == nil {
		s.Tiles = countRoles(v.Cluster)
	} else {
		s.Reasons = reasonsOf(v.Steps)
		s.Fates = glance(v.Steps)
		n := len(v.List)
		t := tile{Value: fmt.Sprint(n), Name: noun(n, "step"), Zero: n == 0}
		if n > 0 {
			t.Note = "in " + wording.Count(waves(v.Lanes), "wave")
		}
		s.Tiles = append(countFates(v.Steps), t)
	}
	if first := v.Ends.First; first != nil {
		t := tile{Value: date(first.First), Name: "first end", Note: first.Who, Wide: true}
		if v.Ends.Near(*first) {
			t.Class = "remove"
		}
		s.Tiles = append(s.Tiles, t)
	}
	if t, ok := fullest(v.Fill); ok {
		s.Tiles = append(s.Tiles, t)
	}
	return s
}

// fullest returns the tile of the document that fills most of its limit.
func fullest(list []fill) (t tile, ok bool) {
	if len(list) == 0 || list[0].Limit == 0 {
		return t, false
	}
	f := list[0]
	t = tile{Value: fmt.Sprintf("%d %%", f.Percent()), Name: "fullest document", Wide: true,
		Note: fmt.Sprintf("%s: %s of %s bytes", f.Fullest, thousands(f.Most), thousands(f.Limit))}
	if f.Full() {
		t.Class = "replace"
	}
	return t, true
}

// countFates returns a tile for each fate.
func countFates(p *rollout.Steps) (out []tile) {
	for _, f := range fates {
		n := 0
		for _, v := range p.Machines {
			if v.Verdict == f.verdict {
				n += len(v.Machines) + len(v.Pools)
			}
		}
		if n == 0 && f.rare {
			continue
		}
		out = append(out, tile{Class: f.Class, Value: fmt.Sprint(n), Name: f.done, Zero: n == 0})
	}
	return out
}

// countRoles returns a tile for the machines of each role, and for pools.
func countRoles(c *change.Cluster) (out []tile) {
	for _, r := range roles {
		n := 0
		for _, m := range c.Machines {
			if m.Role == r.role && !m.Pool {
				n++
			}
		}
		name := strings.ToLower(r.many)
		if n == 1 {
			name = strings.TrimSuffix(name, "s")
		}
		if n > 0 {
			out = append(out, tile{Value: fmt.Sprint(n), Name: name})
		}
	}
	n := 0
	for _, m := range c.Machines {
		if m.Pool {
			n++
		}
	}
	if n > 0 {
		out = append(out, tile{Value: fmt.Sprint(n), Name: noun(n, "pool")})
	}
	return out
}

// glance returns the machines by their fates and the days before which they are due.
func glance(p *rollout.Steps) (out []group) {
	var list []rollout.Verdict
	for _, v := range p.Machines {
		last := len(list) - 1
		if last >= 0 && list[last].Verdict == v.Verdict && list[last].Before == v.Before {
			list[last].Machines = slices.Concat(list[last].Machines, v.Machines)
			list[last].Pools = slices.Concat(list[last].Pools, v.Pools)
			continue
		}
		v.Why = nil
		list = append(list, v)
	}
	return reasonsOf(&rollout.Steps{Machines: list})
}

// reasonsOf returns the machines by their fates and reasons, in the order of the verdicts.
func reasonsOf(p *rollout.Steps) (out []group) {
	for _, v := range p.Machines {
		machines := slices.SortedFunc(slices.Values(v.Machines), natural)
		out = append(out, group{mark: fateOf(v.Verdict), Before: v.Before, Why: v.Why,
			Who: change.Names(machines, v.Pools)})
	}
	return out
}

// noun returns a noun for a number of things.
func noun(n int, one string) string {
	_, text, _ := strings.Cut(wording.Count(n, one), " ")
	return text
}
