package roll

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
)

// TestFill: a line is about the machine whose turn it is, and nothing else in it changes.
func TestFill(t *testing.T) {
	t.Parallel()
	step := &rollout.Step{Machines: []string{"a", "b"}}
	r := &roller{states: []rollout.State{{Cluster: &change.Cluster{Machines: []*change.Machine{
		{Name: "a", Role: "control-plane"}, {Name: "b", Role: "control-plane"},
	}}}}}
	for _, row := range []struct{ in, want rollout.Line }{
		{rollout.Line{Command: "kubectl label node NAME of=NAME", Named: true},
			rollout.Line{Command: "kubectl label node b of=NAME"}},
		{rollout.Line{Command: "kiln apply 'my NAME'/NAME --since x", Document: "'my NAME'/NAME",
			Named: true},
			rollout.Line{Command: "kiln apply 'my NAME'/b --since x", Document: "'my NAME'/b"}},
		{rollout.Line{Command: "kiln apply nodes/pools/p --since NAME", Document: "nodes/pools/p",
			Named: true},
			rollout.Line{Command: "kiln apply nodes/pools/p --since NAME",
				Document: "nodes/pools/p"}},
		{rollout.Line{Nodes: []string{"NAME"}, Command: "kubectl uncordon NAME", Named: true,
			Act: rollout.Uncordon},
			rollout.Line{Nodes: []string{"b"}, Command: "kubectl uncordon b",
				Act: rollout.Uncordon}},
		{rollout.Line{Command: "kubectl label node a b board=MOTHERBOARD HOSTNAME="},
			rollout.Line{Command: "kubectl label node a b board=MOTHERBOARD HOSTNAME="}},
	} {
		turn := &turn{roller: r, step: step, machine: "b", target: r.states[0].Cluster}
		got := turn.fill(row.in)
		got.Named, got.Other = false, false
		require.Equal(t, row.want, got)
	}
}

// TestBatch: --until ends before a step, or before one of its machines.
func TestBatch(t *testing.T) {
	t.Parallel()
	step := &rollout.Step{Do: rollout.Replace, Machines: []string{"a", "b", "c"}, Batch: 2}
	for until, want := range map[string][]string{
		"": {"a", "b"}, "apply": {"a", "b"}, "replace": nil, "replace:a": {}, "replace:b": {"a"},
		"replace:c": {"a", "b"},
	} {
		r := &roller{flags: &flags{until: until}}
		require.Equal(t, want, r.batch(step, step.Batch, nil), until)
	}
	gone := &roller{flags: &flags{until: "replace:d"}}
	require.Empty(t, gone.batch(step, step.Batch, nil), "it is done already")
	require.Len(t, gone.batch(step, step.Batch, []*rollout.Step{
		{Do: rollout.Replace, Machines: []string{"d"}}}), 2, "it comes later")
	require.Equal(t, []string{""},
		(&roller{flags: &flags{}}).batch(&rollout.Step{Do: "apply"}, 0, nil))
}

// TestPlaced: what a Node says of itself cannot become another word of a command.
func TestPlaced(t *testing.T) {
	t.Parallel()
	turn := &turn{target: &change.Cluster{}, roller: &roller{
		nodes: map[string]*running.Node{"blue-1": {Name: "blue-1", Address: "10.0.0.7"}},
	}}
	require.Equal(t, "go blue-1 10.0.0.7 'my nodes'/pools/blue {other}",
		turn.placed("go {node} {address} {document} {other}", "blue-1", "'my nodes'/pools/blue"))
}

// TestLines: what a program prints is shown line by line, without characters that a terminal obeys,
// and the line that says most is the reason.
func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &lines{log: &log{out: &out}, machine: "a"}
	for _, part := range []string{"evicting\npod \x1b[31mweb", "\x07\r\n", "\n",
		`error when evicting pods/"web": Cannot evict: the pod's disruption budget`,
		"\nlast" + strings.Repeat("x", 3*maxPart)} {
		n, err := w.Write([]byte(part))
		require.NoError(t, err)
		require.Len(t, part, n)
	}
	w.flush()
	require.Contains(t, out.String(), "   a | evicting\n")
	require.Contains(t, out.String(), `pod \u001b[31mweb\u0007`)
	require.NotRegexp(t, "[\x00-\x09\x0b-\x1f]", out.String())
	for _, line := range strings.Split(out.String(), "\n") {
		require.Less(t, len(line), maxLine+100)
	}
	text, hint := w.reason()
	require.Contains(t, text, "pods/\"web\"")
	require.Contains(t, hint, "a budget keeps this pod")
}

// TestMembers: a member of etcd has a vote when it has started and nobody is a learner.
func TestMembers(t *testing.T) {
	t.Parallel()
	found := memberLine.FindAllStringSubmatch("8e9e05c52164694d, started, cp-1, https://a:2380, "+
		"https://a:2379, false\n91bc3c398fb3c146, unstarted, , https://b:2380, , false\n"+
		"fd422379fda50e48, started, cp-3, https://c:2380, https://c:2379, true\n", -1)
	require.Len(t, found, 2)
	require.Equal(t, []string{"8e9e05c52164694d", "cp-1", "false"}, found[0][1:])
	require.Equal(t, []string{"fd422379fda50e48", "cp-3", "true"}, found[1][1:])
}
