package announce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/term"
)

// largest returns the largest state that a machine of this name can announce.
func largest(t *testing.T, name string) string {
	t.Helper()
	text := strings.Repeat("<", maxText)
	fault := fmt.Sprintf(`{"code":"swap","object":"%s","evidence":"%[1]s","remedy":"%[1]s"}`, text)
	faults := strings.TrimSuffix(strings.Repeat(fault+",", 98), ",")
	s := status("stopped", "preflight", `"node":""`, `"node":"`+name+`"`,
		`"files":1`, `"files":1`+numbered(maxKeys-1), `"waiting":""`, `"waiting":"`+text+`"`,
		`"faults":[]`, `"faults":[`+faults+`]`)
	require.Greater(t, len(s), MaxSent-8000)
	require.Less(t, len(s), MaxSent-200)
	return s
}

// TestShare: all machines together keep less than their bound, however much each announces, and
// each has its own part of that: what others announce changes nothing.
func TestShare(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		named, pools, perPool int
		wantNamed, wantPooled int // bytes of a state
	}{
		"three machines and a pool":    {3, 1, 100, 16 << 10, 16 << 10},
		"no pool":                      {3, 0, 100, 16 << 10, 16 << 10},
		"ten pools":                    {3, 10, 100, 16 << 10, 2097},
		"a thousand machines":          {1000, 1, 100, 2097, 16 << 10},
		"ten thousand machines":        {10_000, 100, 1000, 1 << 10, 1 << 10},
		"a pool without a real limit":  {10_000, 1, 1 << 40, 1 << 10, 1 << 10},
		"more machines than there are": {200_000, 1, 100, 1 << 10, 16 << 10},
	} {
		machines := make([]Machine, 0, row.named+row.pools)
		for range row.named {
			machines = append(machines, Machine{Name: "x"})
		}
		for range row.pools {
			machines = append(machines, Machine{Name: "y", Pool: true})
		}
		b := newBounds(machines, row.perPool)
		require.Equal(t, row.wantNamed, b.room(one), name)
		require.Equal(t, row.wantPooled, b.room(blue), name)
		most := b.named*b.room(one) + b.pooled*b.room(blue)
		require.LessOrEqual(t, most, max(2*maxShare, (row.named+MaxRows)*minState), name)
	}
}

// TestShorten: a state is shortened until it has its room, and a person still reads where the
// machine is and what is wrong first.
func TestShorten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxName)
	for name, row := range map[string]struct {
		text   string
		room   int
		faults int // at least
		steps  bool
	}{
		"done":             {status("done", "done"), minState, 0, true},
		"one fault":        {status("stopped", "files", `"faults":[]`, aFault), minState, 1, true},
		"the largest":      {largest(t, "m1"), maxState, 50, false},
		"with a long name": {largest(t, long), minState, 1, false},
	} {
		s, err := parse([]byte(row.text))
		require.NoError(t, err, name)
		before := *s
		s.shorten(row.room)
		line, err := term.Line(s)
		require.NoError(t, err)
		require.LessOrEqual(t, len(line), row.room, name)
		require.GreaterOrEqual(t, len(s.Faults), row.faults, name)
		require.Equal(t, row.steps, len(s.Steps) > 0, name)
		require.Equal(t, before.Phase+before.Step+before.Node, s.Phase+s.Step+s.Node, name)
		again, err := parse(line)
		require.NoError(t, err, name)
		require.True(t, again.equal(s), name)
		if len(before.Faults) > len(s.Faults) {
			last := s.Faults[len(s.Faults)-1]
			require.Regexp(t, `^the machine announced \d+ more$`, last.Evidence, name)
		}
	}
}

// TestPoolsTogether: a pool whose machines announce as much as they can leaves named machines what
// they have, and they may still announce.
func TestPoolsTogether(t *testing.T) {
	t.Parallel()
	machines := []Machine{*one, *two, *blue}
	b := New(cluster, machines, 100, nil)
	large := strings.Replace(largest(t, "cp-1"), `"node":"cp-1"`, `"node":""`, 1)
	require.NoError(t, send(b, one, large))
	first := b.Rows()[0]
	for i := range 120 {
		err := send(b, blue, largest(t, fmt.Sprintf("m%d", i)))
		require.Equal(t, i >= 100, err != nil, i)
	}
	require.NoError(t, send(b, two, large))
	rows := b.Rows()
	require.Len(t, rows, 102)
	require.Equal(t, first, rows[0])
	line, err := term.Line(rows)
	require.NoError(t, err)
	require.Less(t, len(line), 2*maxShare)
	require.Greater(t, len(line), maxShare/2)
}

// TestKept: rows that an earlier server kept are left out if no machine has them.
func TestKept(t *testing.T) {
	t.Parallel()
	good := Status{Phase: done, Step: "done"}
	row := func(pool, machine string, s Status) Row {
		return Row{Pool: pool, Machine: machine, Status: s}
	}
	b := New(cluster, []Machine{*one, *blue}, 2, []Row{
		row("", "cp-1", good), row("", "gone", good), row("", "blue", good),
		row("blue", "a", good), row("blue", "b", good), row("blue", "c", good),
		row("cp-1", "a", good), row("red", "a", good),
		row("blue", "a", Status{Phase: "\x1b[2J"}),
	})
	var names []string
	for _, r := range b.Rows() {
		names = append(names, r.Pool+"/"+r.Machine)
	}
	require.Equal(t, []string{"/cp-1", "blue/a", "blue/b"}, names)
}
