package rollout

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// oneMachine returns the state of a cluster with one worker.
func oneMachine(version string) *change.Cluster {
	return &change.Cluster{
		Name: "c", UUID: "00000000-0000-0000-0000-000000000000", Version: version,
		Machines: []*change.Machine{{
			Name: "a", Role: "worker", OS: "flatcar", Platform: "metal", Format: "ignition",
			Properties: change.Properties{
				{Name: "kubelet", Value: "v1.36.3"}, {Name: "until", Value: "2027"},
			},
		}},
	}
}

// members returns the state of a cluster of these control planes, each with a member of etcd.
func members(version string, names ...string) *change.Cluster {
	c := &change.Cluster{Version: version}
	for _, name := range names {
		pod := change.Key{Kind: "file", ID: "/etc/kubernetes/manifests/etcd.yaml"}
		c.Machines = append(c.Machines, &change.Machine{
			Name: name, Role: controlPlane,
			Properties: change.Properties{{Name: "kubelet", Value: version}},
			Entries:    change.Entries{{Key: pod, Content: []byte("a: 1\n")}},
		})
	}
	return c
}

// planned returns the steps from one state to another, with what runs, if that is known.
func planned(t *testing.T, old, now *change.Cluster, r *running.Running) *Steps {
	t.Helper()
	p, err := New(change.Compare(old, now), Options{MaxUnavailable: "1", Running: r})
	require.NoError(t, err)
	return p
}

// holding returns a cluster of one control plane, which has a file.
func holding(path, content string) *change.Cluster {
	c := oneMachine("v1.36.3")
	c.Machines[0].Entries = change.Entries{{
		Key: change.Key{Kind: "file", ID: path}, Content: []byte(content)}}
	return c
}

// TestForce: refusals are overridden by name, and only existing ones.
func TestForce(t *testing.T) {
	t.Parallel()
	d := change.Compare(oneMachine("v1.36.3"), oneMachine("v1.38.0"))
	p, err := New(d, Options{MaxUnavailable: "1"})
	require.NoError(t, err)
	require.Len(t, p.Refused, 1)
	require.Equal(t, "version", p.Refused[0].Name)
	require.Empty(t, p.List)
	p, err = New(d, Options{MaxUnavailable: "1", Force: []string{"version"}})
	require.NoError(t, err)
	require.Empty(t, p.Refused)
	require.Len(t, p.Forced, 1)
	_, err = New(d, Options{MaxUnavailable: "1", Force: []string{"role"}})
	require.ErrorContains(t, err, "not refused for it")
	_, err = New(d, Options{MaxUnavailable: "1", Force: []string{"everything"}})
	require.ErrorContains(t, err, "no such refusal")
	for _, wrong := range []string{"", "0", "-1", "101%", "x", "10 %"} {
		_, err = New(d, Options{MaxUnavailable: wrong})
		require.ErrorContains(t, err, "--max-unavailable")
	}
}

// TestShare: at least one machine is away at a time, and never more than the share.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text        string
		total, want int
	}{{"10%", 3, 1}, {"10%", 30, 3}, {"25%", 39, 9}, {"100%", 7, 7}, {"2", 100, 2}} {
		of, err := share(row.text)
		require.NoError(t, err)
		require.Equal(t, row.want, of(row.total), "%s of %d", row.text, row.total)
	}
}

// TestAdvice: no refusal advises what the change does already, or what no configuration can say.
func TestAdvice(t *testing.T) {
	t.Parallel()
	cluster := func(names ...string) *change.Cluster {
		c := &change.Cluster{}
		for _, name := range names {
			role, member := controlPlane, true
			switch {
			case strings.HasPrefix(name, "etcd"):
				role = etcdRole
			case strings.HasPrefix(name, "client"):
				member = false
			}
			m := &change.Machine{Name: name, Role: role}
			if member {
				pod := change.Key{Kind: "file", ID: "/etc/kubernetes/manifests/etcd.yaml"}
				m.Entries = change.Entries{{Key: pod, Content: []byte("a: 1\n")}}
			}
			c.Machines = append(c.Machines, m)
		}
		return c
	}
	for name, row := range map[string]struct {
		old, new *change.Cluster
		want     string
	}{
		"others":          {cluster("a"), cluster("b"), "add first, remove in a second plan"},
		"others, added":   {cluster("a"), cluster("a", "b"), ""},
		"others, removed": {cluster("a", "b"), cluster("b"), ""},
		"to etcd machines": {cluster("a"), cluster("client", "etcd"),
			"or restore a snapshot: members do not move"},
		"from etcd machines": {cluster("client", "etcd"), cluster("a"),
			"or restore a snapshot: members do not move"},
		"to an external etcd": {cluster("a"), cluster("client"),
			"make a new cluster with the external etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planned(t, row.old, row.new, nil)
			if row.want == "" {
				require.Empty(t, p.Refused)
				return
			}
			require.Len(t, p.Refused, 1)
			require.Contains(t, p.Refused[0].Instead, row.want)
		})
	}
}

// TestSnapshotBefore: an upgrade has its snapshot as long as no control plane runs the newer
// version, also if one is away or comes.
func TestSnapshotBefore(t *testing.T) {
	t.Parallel()
	old, now := members("v1.35.1", "a", "b", "c"), members("v1.36.3", "a", "b", "c")
	nodes := func(list ...*change.Machine) (out []running.Node) {
		for _, m := range list {
			out = append(out, running.Node{
				Name: m.Name, Twin: review.Digest(m), Ready: true, Hook: "done done",
			})
		}
		return out
	}
	was, is := old.Machines, now.Machines
	down := nodes(was...)
	down[0].Ready = false
	for name, row := range map[string]struct {
		nodes []running.Node
		want  string
		on    string
	}{
		"all are older":      {nodes(was...), Snapshot, "a"},
		"the first is away":  {nodes(was[1:]...), Snapshot, "b"},
		"the last is away":   {nodes(was[:2]...), Snapshot, "a"},
		"the first is newer": {nodes(is[0], was[1], was[2]), Replace, "b"},
		"the first is down":  {down, Snapshot, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planned(t, old, now, &running.Running{Nodes: row.nodes, Digest: review.Digest})
			step := p.List[0]
			require.Equal(t, row.want, step.Do)
			require.Equal(t, row.on, step.Machines[0])
		})
	}
}

// TestSnapshotOfExternal: an upgrade by a minor begins with a snapshot of an external etcd too, and
// no other change does.
func TestSnapshotOfExternal(t *testing.T) {
	t.Parallel()
	cluster := func(version string) *change.Cluster {
		return &change.Cluster{Version: version, Machines: []*change.Machine{{
			Name: "a", Role: controlPlane,
			Properties: change.Properties{{Name: "kubelet", Value: version}},
		}}}
	}
	for version, want := range map[string]string{"v1.36.3": Snapshot, "v1.35.2": Replace} {
		p := planned(t, cluster("v1.35.1"), cluster(version), nil)
		require.Empty(t, p.Refused)
		require.Equal(t, want, p.List[0].Do)
		if want == Snapshot {
			require.Equal(t, "take a snapshot of etcd", p.List[0].Title())
			require.Empty(t, p.List[0].Machines)
		}
	}
}

// TestTyped: the steps that take a snapshot can be done in the order in which they stand. Nothing
// is removed or switched off that a later line asks. The state that the only member runs after its
// restore has a name, so that the next plan knows it.
func TestTyped(t *testing.T) {
	t.Parallel()
	const same = "sha256sum of the copy is that of the file"
	p, err := New(change.Compare(members("v1.36.2", "a"), members("v1.36.3", "a")),
		Options{MaxUnavailable: "1", Force: []string{"single-member"}})
	require.NoError(t, err)
	require.Len(t, p.List, 3)
	require.Equal(t, []string{same}, Texts(p.List[0].Wait))
	require.Equal(t, []string{"power it off: what is written later is lost"}, Texts(p.List[0].Then))
	require.Contains(t, p.List[1].How[0].Text,
		"--restore a:/var/backups/etcd/a.db --review restored")
	require.Contains(t, Texts(p.List[2].Wait), leading)
	require.Equal(t, []string{
		"kiln render without --restore, and keep these documents",
		"kubectl uncordon a",
	}, Texts(p.List[2].Then))

	old, now := members("v1.35.1", "a", "b", "c"), members("v1.36.3", "a", "b", "c")
	p = planned(t, old, now, nil)
	require.Equal(t, []string{same}, Texts(p.List[0].Wait))
	require.Equal(t, []string{"remove it there"}, Texts(p.List[0].Then))
	require.NotContains(t, Texts(p.List[0].How), ifNotDone)

	r := &running.Running{Digest: review.Digest}
	for _, m := range old.Machines {
		r.Nodes = append(r.Nodes, running.Node{Name: m.Name, Twin: review.Digest(m), Ready: true})
	}
	p = planned(t, old, now, r)
	require.Equal(t, Snapshot, p.List[0].Do)
	require.Equal(t, ifNotDone, Texts(p.List[0].How)[0])
}

// TestEtcdctl: commands of etcdctl are whole, and ask a member that stays.
func TestEtcdctl(t *testing.T) {
	t.Parallel()
	c := members("v1.36.3", "a", "b", "c")
	r := &running.Running{Digest: review.Digest}
	for _, m := range c.Machines {
		r.Nodes = append(r.Nodes, running.Node{Name: m.Name, Twin: review.Digest(m), Ready: true,
			Hook: "waiting etcd"})
	}
	p := planned(t, c, c, r)
	require.Len(t, p.List, 1)
	require.Equal(t, Wait, p.List[0].Do)
	require.Equal(t, "OTHER is any other member of etcd than NAME", Texts(p.List[0].How)[0])
	require.Contains(t, Texts(p.List[0].Wait), "kubectl -n kube-system exec etcd-OTHER -- "+
		rotation.Etcdctl+" member list has NAME as started, and no learner")

	// One machine: the command has the name of a member that stays, and is not down.
	one := *r
	one.Nodes = slices.Clone(r.Nodes)
	one.Nodes[0].Ready = false
	one.Nodes[2].Hook = "done done"
	p = planned(t, c, c, &one)
	require.Equal(t, []string{"a", "b"}, p.List[0].Machines)
	require.Contains(t, Texts(p.List[0].Wait)[1], "exec etcd-c -- ")

	// On etcd machines it is typed there.
	for _, m := range c.Machines {
		m.Role = etcdRole
	}
	now := *c
	now.Machines = append(slices.Clone(c.Machines[:2]), &change.Machine{
		Name: "d", Role: etcdRole, Entries: c.Machines[2].Entries,
		Properties: change.Properties{{Name: "kubelet", Value: c.Version}},
	})
	p, err := New(change.Compare(c, &now), Options{MaxUnavailable: "1", Documents: "out"})
	require.NoError(t, err)
	const there = "on a, with CONTAINER from ctr -n k8s.io containers ls | grep etcd: " +
		"ctr -n k8s.io tasks exec --exec-id etcdctl CONTAINER " + rotation.Etcdctl
	require.Equal(t, []string{
		"give it its document out/d, an image with kubelet v1.36.3, and power it on",
		"its hook brings the member into etcd; there is nothing to do",
	}, Texts(p.List[0].How))
	require.Equal(t, []string{there + " member list has d as started, and no learner"},
		Texts(p.List[0].Wait))
	require.Equal(t, there+" endpoint health --cluster  # all of them, before it goes",
		Texts(p.List[1].How)[0])
}

// TestBack: a control plane that runs a newer minor, in a document that nobody named, is not
// replaced by an older one.
func TestBack(t *testing.T) {
	t.Parallel()
	old, now := members("v1.36.3", "a", "b", "c"), members("v1.36.3", "a", "b", "c")
	for _, m := range now.Machines {
		m.Entries[0].Content = []byte("a: 2\n")
	}
	nodes := []running.Node{
		{Name: "a", Twin: strings.Repeat("0", 64), Kubelet: "v1.37.1", Ready: true},
		{Name: "b", Ready: true}, {Name: "c", Ready: true},
	}
	p := planned(t, old, now, &running.Running{Nodes: nodes, Digest: review.Digest})
	require.Len(t, p.Refused, 1)
	require.Equal(t, "version", p.Refused[0].Name)
	require.Equal(t, "Kubernetes v1.37.1 → v1.36.3 goes back on a", p.Refused[0].Why)
}
