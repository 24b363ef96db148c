package running_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// state returns a cluster whose machines have a content of their own. Names that begin with pool
// are pools.
func state(content string, names ...string) *change.Cluster {
	c := &change.Cluster{Name: "c", UUID: "u", Version: "v1.36.3"}
	for _, name := range names {
		c.Machines = append(c.Machines, &change.Machine{
			Name: name, Role: "worker", Pool: strings.HasPrefix(name, "pool"),
			Entries: change.Entries{{
				Key: change.Key{Kind: "file", ID: "/etc/motd"}, Content: []byte(content),
			}},
		})
	}
	return c
}

// runs returns a Node that runs the document of a machine of a state; nil for one that says
// nothing.
func runs(name string, c *change.Cluster, machine string) running.Node {
	n := running.Node{Name: name, Ready: true, Hook: "done done"}
	if c == nil {
		return n
	}
	for _, m := range c.Machines {
		if m.Name == machine {
			n.Twin = review.Digest(m)
		}
	}
	return n
}

// observe returns what is seen of a change, and the cluster that runs.
func observe(t *testing.T, old, now *change.Cluster, earlier []*change.Cluster,
	nodes ...running.Node,
) (*running.Observation, *change.Cluster) {
	t.Helper()
	d := change.Compare(old, now)
	o, err := running.Observe(d, &running.Running{
		Nodes: nodes, Earlier: earlier, Digest: review.Digest,
	})
	require.NoError(t, err)
	return o, o.Runs
}

// TestEarlier: a machine that only an earlier state has is not lost.
func TestEarlier(t *testing.T) {
	t.Parallel()
	before := state("0", "a", "b", "pool-x")
	o, _ := observe(t, state("1", "a"), state("2", "a"), []*change.Cluster{before},
		runs("a", before, "a"), runs("b", before, "b"), runs("x-1", before, "pool-x"))
	require.Equal(t, []running.Standing{
		{Standing: running.Older, Machines: []string{"a"}},
		{Standing: running.Foreign, Nodes: []string{"b", "x-1"}, Why: "an earlier state had it"},
	}, o.List)
}

// TestPools: a pool runs the earliest document that one of its machines has, and a pool whose
// machines may be those that say nothing runs the older one.
func TestPools(t *testing.T) {
	t.Parallel()
	before, old, now := state("0", "pool-x"), state("1", "pool-x"), state("2", "pool-x")
	_, c := observe(t, old, now, []*change.Cluster{before},
		runs("x-1", before, "pool-x"), runs("x-2", old, "pool-x"))
	require.Same(t, before.Machines[0], c.Machines[0])

	old, now = state("1", "a", "pool-x"), state("2", "a", "pool-x")
	o, c := observe(t, old, now, nil, runs("a", now, "a"), runs("x-1", nil, ""))
	require.Same(t, old.Machines[1], c.Machines[1])
	require.Equal(t, running.Unsaid, o.Of(now.Machines[1]).Standing)
	require.Contains(t, o.List[1].Why, "it may be a machine of a pool")
	o, c = observe(t, old, now, nil, runs("a", now, "a"), runs("x-1", now, "pool-x"),
		runs("x-2", nil, ""))
	require.Same(t, now.Machines[1], c.Machines[1])
	require.Contains(t, o.List[1].Why, "it may be a machine of a pool")
}

// TestStrangers: a list without one machine of the states is that of another cluster.
func TestStrangers(t *testing.T) {
	t.Parallel()
	_, err := running.Observe(change.Compare(state("1", "a"), state("2", "a")), &running.Running{
		Nodes: []running.Node{runs("b", nil, "")}, Digest: review.Digest,
	})
	require.ErrorContains(t, err, "no Node is a machine of these states")
}

// TestDone: a Node that says what its machine runs is believed, and one that is there is not gone.
func TestDone(t *testing.T) {
	t.Parallel()
	old, now := state("1", "a", "b", "c"), state("2", "a", "c")
	for _, row := range []struct {
		done  string
		node  running.Node
		fails string
	}{
		{"a", runs("a", old, "a"), "--done a: its Node says what it runs; leave it out"},
		{"a", runs("a", now, "a"), "--done a: its Node says what it runs; leave it out"},
		{"b", runs("b", nil, ""), "--done b: it is to be removed, and its Node is there"},
		{"a", runs("a", nil, ""), ""},
		{"b", runs("a", old, "a"), ""},
	} {
		_, err := running.Observe(change.Compare(old, now), &running.Running{
			Nodes: []running.Node{row.node}, Done: []string{row.done}, Digest: review.Digest,
		})
		if row.fails == "" {
			require.NoError(t, err, row.done)
			continue
		}
		require.ErrorContains(t, err, row.fails)
	}
}

// TestSecretsAlone: if two documents differ in the content of a secret alone, their Nodes say the
// same of both. Such a machine is taken for the older one until somebody says that it is done.
func TestSecretsAlone(t *testing.T) {
	t.Parallel()
	old, now := state("1", "a", "pool-x"), state("1", "a", "pool-x")
	for i, c := range []*change.Cluster{old, now} {
		for _, m := range c.Machines {
			m.Entries = append(m.Entries, &change.Entry{
				Key:    change.Key{Kind: "file", ID: "/etc/x"},
				Secret: "file /etc/x", Seal: change.SealOf([]byte{byte(i)}),
			})
		}
	}
	nodes := []running.Node{runs("a", now, "a"), runs("x-1", now, "pool-x")}
	o, c := observe(t, old, now, nil, nodes...)
	require.Equal(t, old.Machines, c.Machines)
	for _, s := range o.List {
		require.Equal(t, running.Unsaid, s.Standing)
	}
	o, err := running.Observe(change.Compare(old, now), &running.Running{
		Nodes: nodes, Digest: review.Digest, Done: []string{"a"},
	})
	require.NoError(t, err)
	require.Same(t, now.Machines[0], o.Runs.Machines[0])
}
