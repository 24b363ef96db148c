package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render/fleet/rollout"
)

// TestMemberDown: a control plane that is down goes first, and nobody waits for its member.
func TestMemberDown(t *testing.T) {
	t.Parallel()
	old, now := ofVersion(dot, dot), ofVersion(dot, dot)
	for i := range now.Machines {
		edit(now, i, "/etc/hostname", "2\n")
	}
	r := runningFrom(old, old, old, old)
	r.Nodes[1].Ready = false
	p := planned(t, old, now, r)
	require.Equal(t, []string{"cp-2", "cp-1", "cp-3"}, p.List[0].Machines)

	// With two down nobody touches a member.
	r.Nodes[2].Ready = false
	p = planned(t, old, now, r)
	require.Len(t, p.Refused, 1)
	require.Equal(t, "members-down", p.Refused[0].Name)
	require.Equal(t, "the Nodes of cp-2, cp-3 are not Ready, or not there: of 3 members of etcd, "+
		"the others are no majority", p.Refused[0].Why)
	r.Nodes[2].Ready = true
	p = planned(t, old, now, r)
	require.Equal(t, "kubectl -n kube-system exec etcd-OTHER -- "+rotation.Etcdctl+" endpoint "+
		"health --cluster  # all but cp-2, down already: begin with it", p.List[0].How[1].Text)
}

// TestMemberAbsent: a list of only some Nodes is no reason to empty the disks of members that run.
func TestMemberAbsent(t *testing.T) {
	t.Parallel()
	c := ofVersion(dot, dot)
	r := runningFrom(c, c, c)
	const partial = ": a list of only some Nodes leaves out machines that run"
	r.Nodes = r.Nodes[:2]
	p := planned(t, c, c, r)
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
	p = planned(t, c, c, r)
	require.Len(t, p.Refused, 1)
	require.Equal(t, "members-down", p.Refused[0].Name)
	require.Equal(t, "the Nodes of cp-2, cp-3 are not Ready, or not there: of 3 members of etcd, "+
		"the others are no majority", p.Refused[0].Why)
}
