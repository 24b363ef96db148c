package announce

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"kiln.dev/kiln/render/text/wording"
)

// Result is how a wait ended.
type Result int

// The results of Wait.
const (
	AllDone Result = iota
	SomeStopped
	TimeOver
)

// linger is how long a wait goes on after a machine has stopped, so that its table has what comes
// at the same time.
const linger = 5 * time.Second

// drawEvery is the time between two tables.
const drawEvery = 250 * time.Millisecond

// View waits for the machines of a board, and shows them.
type View struct {
	board    *Board
	machines []Machine
	began    time.Time

	out  io.Writer                  // a terminal, without a filter; nil for no table
	size func() (width, height int) // of the terminal

	mu    sync.Mutex
	drawn int // the lines of the table that the terminal shows
}

// NewView returns a view of the machines and pools that are to announce. It draws a table on out,
// which is a terminal of that size, and nothing if out is nil.
func NewView(b *Board, machines []Machine, out io.Writer, size func() (width, height int)) *View {
	return &View{board: b, machines: machines, began: time.Now(), out: out, size: size}
}

// Wait waits until all machines are done, until one of them stops, or until ctx is done. A machine
// that had stopped when the wait began ends it once no other is under way: a server that is started
// again goes on, and somebody may be mending that machine. Machines of a pool count as they come;
// without any, a pool keeps nobody waiting, if there are named machines.
func (v *View) Wait(ctx context.Context) Result {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	var since time.Time // a machine has stopped
	for {
		entries := v.entries()
		v.draw(entries, false)
		sum := count(entries)
		result, over := TimeOver, ctx.Err() != nil
		switch {
		case sum.all > 0 && sum.done == sum.all:
			result, over = AllDone, true
		case sum.all > 0 && sum.done+sum.halted == sum.all:
			result, over = SomeStopped, true
		case sum.fresh == 0:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > linger:
			result, over = SomeStopped, true
		}
		if over {
			v.draw(entries, true)
			return result
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// States of a machine, the worst first.
const (
	halted  = iota // a person is needed
	overdue        // it waits longer than it should
	isWaiting
	isRunning
	silent // nothing was heard of it, or of another document
	isDone
)

// entry is a machine in the table.
type entry struct {
	name  string
	state int
	row   *Row // nil if nothing was heard
	fresh bool
}

// entries returns all machines that are awaited or were heard, the worst first, then by name.
func (v *View) entries() (list []entry) {
	v.board.mu.Lock()
	defer v.board.mu.Unlock()
	for i := range v.machines {
		m := &v.machines[i]
		if !m.Pool {
			list = append(list, newEntry(m, v.board.rows[rowKey{machine: m.Name}]))
			continue
		}
		for at, r := range v.board.rows {
			if at.pool == m.Name {
				list = append(list, newEntry(m, r))
			}
		}
	}
	slices.SortFunc(list, func(x, y entry) int {
		return cmp.Or(x.state-y.state, strings.Compare(x.name, y.name))
	})
	return list
}

func newEntry(m *Machine, r *row) entry {
	e := entry{name: m.Name, state: silent}
	if r == nil {
		return e
	}
	shown := r.Row
	e.row, e.fresh = &shown, r.fresh
	if m.Pool {
		e.name = m.Name + "/" + r.Machine
	}
	s := &shown.Status
	switch {
	case m.Document != "" && s.Document != "" && s.Document != m.Document:
	case s.halted():
		e.state = halted
	case s.Phase == done:
		e.state = isDone
	case s.Phase == waiting && len(s.Faults) > 0:
		e.state = overdue
	case s.Phase == waiting:
		e.state = isWaiting
	default:
		e.state = isRunning
	}
	return e
}

// sums are the numbers of machines.
type sums struct{ all, done, halted, overdue, waiting, running, silent, fresh int }

func count(entries []entry) (sum sums) {
	sum.all = len(entries)
	for i := range entries {
		n := [...]*int{
			&sum.halted, &sum.overdue, &sum.waiting, &sum.running, &sum.silent, &sum.done,
		}[entries[i].state]
		*n++
		if entries[i].state == halted && entries[i].fresh {
			sum.fresh++
		}
	}
	return sum
}

// line returns the numbers in words.
func (s sums) line() string {
	text := fmt.Sprintf("%d of %s done", s.done, wording.Count(s.all, "machine"))
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.halted, "stopped"}, {s.overdue, "overdue"}, {s.waiting, "waiting"},
		{s.running, "running"}, {s.silent, "not heard of"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// Line returns how many machines are done, stopped and so on.
func (v *View) Line() string { return count(v.entries()).line() }

// Note prints a line above the table.
func (v *View) Note(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	_, _ = fmt.Fprintln(v.out, wording.Visible(line, ""))
}

// draw draws the table in the place of the one before. The last one is whole, whatever the size of
// the terminal.
func (v *View) draw(entries []entry, last bool) {
	if v.out == nil {
		return
	}
	width, height := v.size()
	lines := v.lines(entries, max(width, 40))
	if room := max(height-2, 3); !last && len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("… and %d more lines", len(lines)-room+1))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	_, _ = io.WriteString(v.out, strings.Join(lines, "\n")+"\n")
	v.drawn = len(lines)
}

// erase removes the table that the terminal shows.
func (v *View) erase() {
	if v.drawn > 0 {
		_, _ = fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", v.drawn)
	}
	v.drawn = 0
}

// lines returns the lines of the table, none wider than width.
func (v *View) lines(entries []entry, width int) []string {
	name := len("MACHINE")
	for i := range entries {
		name = max(name, len(entries[i].name))
	}
	format := fmt.Sprintf("%%-%ds  %%-7s  %%-13s  %%7s  %%s", min(name, 40))
	lines := wrap(count(entries).line()+", after "+age(time.Since(v.began)), width, "    ")
	lines = append(lines,
		strings.TrimRight(fmt.Sprintf(format, "MACHINE", "PHASE", "STEP", "SINCE", ""), " "))
	for i := range entries {
		e := &entries[i]
		if e.row == nil {
			line := fmt.Sprintf(format, e.name, "-", "-", "-", "not heard of")
			lines = append(lines, wrap(line, width, "")...)
			continue
		}
		s := &e.row.Status
		about := s.Waiting
		switch {
		case e.state == silent:
			about = "with another document than here"
		case len(s.Faults) > 0:
			about = ""
		case s.Phase == stopped:
			about = "interrupted; its next start goes on"
		}
		line := fmt.Sprintf(format, e.name, s.Phase, s.Step, age(time.Since(e.row.Since)), about)
		lines = append(lines, wrap(strings.TrimRight(line, " "), width, "    ")...)
		for _, f := range s.Faults {
			line := fmt.Sprintf("  %s %s: %s; %s", f.Code, f.Object, f.Evidence, f.Remedy)
			lines = append(lines, wrap(line, width, "    ")...)
		}
	}
	return lines
}

// wrap breaks a line at blanks, and a word that is too long anywhere.
func wrap(line string, width int, indent string) (lines []string) {
	for len(line) > width {
		at := strings.LastIndexByte(line[:width+1], ' ')
		if at <= len(indent) || strings.TrimSpace(line[:at]) == "" {
			at = width
		}
		lines = append(lines, strings.TrimRight(line[:at], " "))
		line = indent + strings.TrimLeft(line[at:], " ")
	}
	return append(lines, line)
}

// age returns a duration in two units at most.
func age(d time.Duration) string {
	d = max(0, d).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
