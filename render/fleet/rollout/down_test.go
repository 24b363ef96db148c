package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// TestMemberDown: a control plane that is down goes first, and nobody waits for its member.
func TestMemberDown(t *testing.T) {
	t.Parallel()
	old := &change.Cluster{Name: "c", UUID: "u", Version: dot, Properties: change.Properties{
		{Name: "rotation ca", Value: rotated(0)},
	}}
	now := *old
	r := &running.Running{Digest: review.Digest}
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		add(old, name, "control-plane", true, false)
		r.Nodes = append(r.Nodes, running.Node{Name: name, Ready: name != "cp-2",
			Hook: "done done", Twin: review.Digest(old.Machines[len(old.Machines)-1])})
	}
	now.Machines = append(now.Machines, old.Machines...)
	for i := range now.Machines {
		edit(&now, i, "/etc/hostname", "2\n")
	}
	p, err := rollout.New(change.Compare(old, &now), rollout.Options{
		MaxUnavailable: "1", Running: r,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"cp-2", "cp-1", "cp-3"}, p.List[0].Machines)

	// With two down nobody touches a member.
	r.Nodes[2].Ready = false
	p, err = rollout.New(change.Compare(old, &now), rollout.Options{
		MaxUnavailable: "1", Running: r,
	})
	require.NoError(t, err)
	require.Len(t, p.Refused, 1)
	require.Equal(t, "members-down", p.Refused[0].Name)
	require.Equal(t, "the Nodes of cp-2, cp-3 are not Ready, or not there: of 3 members of etcd, "+
		"the others are no majority", p.Refused[0].Why)
	r.Nodes[2].Ready = true
	p, err = rollout.New(change.Compare(old, &now), rollout.Options{
		MaxUnavailable: "1", Running: r,
	})
	require.NoError(t, err)
	require.Equal(t, "kubectl -n kube-system exec etcd-OTHER -- "+rotation.Etcdctl+" endpoint "+
		"health --cluster  # all but cp-2, down already: begin with it", p.List[0].How[1].Text)
}

// TestMemberAbsent: a list of only some Nodes is no reason to empty the disks of members that run.
func TestMemberAbsent(t *testing.T) {
	t.Parallel()
	c := &change.Cluster{Name: "c", UUID: "u", Version: dot, Properties: change.Properties{
		{Name: "rotation ca", Value: rotated(0)},
	}}
	r := &running.Running{Digest: review.Digest}
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		add(c, name, "control-plane", true, false)
		r.Nodes = append(r.Nodes, running.Node{Name: name, Ready: true, Hook: "done done",
			Twin: review.Digest(c.Machines[len(c.Machines)-1])})
	}
	add(c, "worker-1", "worker", false, false)
	plan := func() *rollout.Steps {
		p, err := rollout.New(change.Compare(c, c), rollout.Options{
			MaxUnavailable: "1", Running: r,
		})
		require.NoError(t, err)
		return p
	}
	const partial = ": a list of only some Nodes leaves out machines that run"
	r.Nodes = r.Nodes[:2]
	p := plan()
	require.Empty(t, p.Refused)
	require.Equal(t, []string{
		"first see that nothing runs as cp-3" + partial,
		"kubectl -n kube-system exec etcd-cp-1 -- " + rotation.Etcdctl + " endpoint health " +
			"--cluster  # all but cp-3, down already: begin with it",
		"give it its document nodes/cp-3 and an empty disk, " +
			"an image with kubelet v1.36.3, and power it on",
	}, rollout.Texts(p.List[0].How)[:3])
	require.Equal(t, []string{
		"first see that nothing runs as worker-1" + partial,
		"give it its document nodes/worker-1 and an empty disk, " +
			"an image with kubelet v1.36.3, and power it on",
	}, rollout.Texts(p.List[1].How))

	r.Nodes = r.Nodes[:1]
	p = plan()
	require.Len(t, p.Refused, 1)
	require.Equal(t, "members-down", p.Refused[0].Name)
	require.Equal(t, "the Nodes of cp-2, cp-3 are not Ready, or not there: of 3 members of etcd, "+
		"the others are no majority", p.Refused[0].Why)
}
