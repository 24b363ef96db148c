package announce

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
)

// Bounds of the states that a Board keeps, as JSON. A real state has 300 to 8,000 bytes.
const (
	maxState = 16 << 10 // of one machine
	// minState is of one machine too, however many there are. It has room for a first boot that is
	// done, or for one fault.
	minState = 1 << 10
	// maxShare is of all named machines together, and again of all machines of pools, unless these
	// are so many that minState is more.
	maxShare = 2 << 20
	// MaxRows bounds the machines of pools: they are no more than this, together with the named
	// ones. Kubernetes has 5,000 Nodes.
	MaxRows = 30_000
)

// bounds are what the machines of a board have of its room. They follow from the configuration
// alone. A pool's machine never takes the place of a named one.
type bounds struct {
	named, pooled int // the numbers of machines, at most
}

func newBounds(machines []Machine, poolLimit int) (b bounds) {
	pools := 0
	for i := range machines {
		if machines[i].Pool {
			pools++
		} else {
			b.named++
		}
	}
	b.pooled = max(0, min(pools*min(poolLimit, MaxRows), MaxRows-b.named))
	return b
}

// room returns the bytes that the state of a machine may have.
func (b bounds) room(m *Machine) int {
	machines := b.named
	if m.Pool {
		machines = b.pooled
	}
	return min(max(minState, maxShare/max(machines, 1)), maxState)
}

// shorten makes the JSON of a status no longer than room, which is minState at least. It keeps what
// a person needs first: where the machine is, and what is wrong.
func (s *Status) shorten(room int) {
	for _, step := range []func(){
		func() { s.cut(200) },
		func() { s.Steps = map[string]int64{} },
		func() { s.cut(100) },
		func() { s.cut(60) },
	} {
		if s.size() <= room {
			return
		}
		step()
	}
	all := s.Faults
	for n := len(all) - 1; n >= 0 && s.size() > room; n-- {
		s.keep(all, n)
	}
}

// size returns the number of bytes of the status as JSON.
func (s *Status) size() int {
	line, _ := term.Line(s) // it cannot fail: strings and numbers
	return len(line)
}

// cut cuts the texts that are longer than most.
func (s *Status) cut(most int) {
	const end = "..."
	short := func(text *string) {
		if len(*text) > most {
			*text = strings.Clone((*text)[:most-len(end)]) + end
		}
	}
	short(&s.Waiting)
	for i := range s.Faults {
		f := &s.Faults[i]
		short(&f.Code)
		short(&f.Object)
		short(&f.Evidence)
		short(&f.Remedy)
	}
}

// keep keeps the first n of all faults, and says how many it left out.
func (s *Status) keep(all []Fault, n int) {
	s.Faults = append(slices.Clone(all[:n]), Fault{
		Code: "more-faults", Object: "status.json",
		Evidence: fmt.Sprintf("the machine announced %d more", len(all)-n),
		Remedy:   "read /var/lib/kiln/status.json there",
	})
}
