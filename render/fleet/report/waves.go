package report

import (
	"slices"

	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/twin/change"
)

// lane is a step in the picture of the order: when it runs, and its waves.
type lane struct {
	Number      int // of the step
	Title       string
	Class       string
	Left, Width int // of its part of all waves, in thousandths of the whole width
	Waves       []wave
}

// wave is what is away, or is changed, at the same time. The next wave begins when it is back.
type wave struct {
	Number   int
	Machines []string
	Note     string
}

// lanesOf returns the waves of all steps, which follow each other.
func lanesOf(p *rollout.Steps) (out []lane) {
	if p == nil {
		return nil
	}
	all := 0
	for i := range p.List {
		s := ordered(&p.List[i])
		l := lane{Number: i + 1, Title: s.Title(), Class: classOf(s), Left: all}
		for _, w := range wavesOf(s) {
			all++
			w.Number = all
			l.Waves = append(l.Waves, w)
		}
		out = append(out, l)
	}
	for i := range out {
		l := &out[i]
		l.Left = 1000 * l.Left / all
		l.Width = max(1, 1000*len(l.Waves)/all)
	}
	return out
}

// wavesOf returns the waves of one step. What does not take machines away is one wave.
func wavesOf(s *rollout.Step) (out []wave) {
	switch s.Do {
	case rollout.Apply, rollout.Delete:
		return []wave{{Note: "in the API; no machine is away"}}
	case rollout.Restart:
		return []wave{{Machines: names(s), Note: "one after the other; pods of others run on"}}
	case rollout.Live:
		return []wave{{Machines: names(s), Note: "no machine is away"}}
	case rollout.Wait:
		return []wave{{Machines: names(s), Note: "until it is ready"}}
	case rollout.Snapshot, rollout.Restore:
		return []wave{{Machines: names(s)}}
	}
	size := s.AtATime
	if size == 0 {
		size = max(1, len(s.Machines))
	}
	for part := range slices.Chunk(s.Machines, size) {
		out = append(out, wave{Machines: part})
	}
	for _, pool := range s.Pools {
		w := wave{Machines: []string{"pool " + pool}}
		if s.Do == rollout.Replace {
			w.Note = "as many at a time as --max-unavailable says"
			if len(s.Nodes) > 0 {
				w.Note = "of it " + change.Names(s.Nodes, nil) + ", " + w.Note
			}
		}
		out = append(out, w)
	}
	return out
}

// names returns the machines and pools of a step.
func names(s *rollout.Step) []string {
	list := slices.Clone(s.Machines)
	for _, pool := range s.Pools {
		list = append(list, "pool "+pool)
	}
	return list
}

// waves returns the number of waves of all lanes.
func waves(list []lane) (n int) {
	for _, l := range list {
		n += len(l.Waves)
	}
	return n
}
