package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// ofVersion returns a cluster of three control planes and a worker, of that version. The worker's
// kubelet is of another one.
func ofVersion(version, kubelet string) *change.Cluster {
	c := &change.Cluster{Name: "c", UUID: "u", Version: version}
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		add(c, name, "control-plane", true, false)
	}
	add(c, "worker-1", "worker", false, false)
	c.Machines[3].Properties[0].Value = kubelet
	return c
}

// runningFrom returns the Nodes of machines that run documents of these states, control planes
// first.
func runningFrom(states ...*change.Cluster) *running.Running {
	r := &running.Running{Digest: review.Digest}
	for i, c := range states {
		m := c.Machines[i]
		r.Nodes = append(r.Nodes, running.Node{Name: m.Name, Twin: review.Digest(m), Ready: true,
			Hook: "done done", Kubelet: m.Properties.Value("kubelet")})
	}
	return r
}

func states(list ...*change.Cluster) (out []rollout.State) {
	for i, c := range list {
		out = append(out, rollout.State{Name: string(rune('A' + i)), Cluster: c})
	}
	return out
}

// planned returns the steps from one state to another, with what runs, if that is known.
func planned(t *testing.T, old, now *change.Cluster, r *running.Running) *rollout.Steps {
	t.Helper()
	p, err := rollout.New(change.Compare(old, now),
		rollout.Options{MaxUnavailable: "1", Running: r})
	require.NoError(t, err)
	return p
}

// next is planned for the next of several states.
func next(t *testing.T, states []rollout.State, r *running.Running) *rollout.Steps {
	t.Helper()
	p, err := rollout.Next(states, rollout.Options{MaxUnavailable: "1", Running: r})
	require.NoError(t, err)
	return p
}

// TestHops: two minors are two hops, and their text says which is which.
func TestHops(t *testing.T) {
	t.Parallel()
	a, b, c := ofVersion("v1.35.4", "v1.35.4"), ofVersion("v1.36.3", "v1.36.3"),
		ofVersion("v1.37.1", "v1.37.1")
	o := rollout.Options{MaxUnavailable: "1"}
	h, err := rollout.NewHops(states(a, b, c), o)
	require.NoError(t, err)
	require.False(t, h.Refused())
	text := h.Text(change.Form{})
	require.True(t, strings.HasPrefix(text, "hop 1 of 2: A → B, Kubernetes v1.35.4 → v1.36.3\n"))
	require.Contains(t, text, "\n\nhop 2 of 2: B → C, Kubernetes v1.36.3 → v1.37.1\n")
	require.Equal(t, 2, strings.Count(text, "take a snapshot of etcd"))
	require.Contains(t, text, "an image with kubelet v1.36.3 (the document of B), and power it on")

	h, err = rollout.NewHops(states(a, c, c), o)
	require.NoError(t, err)
	require.True(t, h.Refused())
	o.Force = []string{"version"}
	h, err = rollout.NewHops(states(a, c, c), o)
	require.NoError(t, err)
	require.False(t, h.Refused())
	o.Force = []string{"role"}
	_, err = rollout.NewHops(states(a, c, c), o)
	require.EqualError(t, err, "--force role: no hop is refused for it; leave it out")
}

// TestNext: what runs decides which hop is next. A worker that stays behind holds nothing up, and
// nobody goes back.
func TestNext(t *testing.T) {
	t.Parallel()
	a, b, c := ofVersion("v1.35.4", "v1.35.4"), ofVersion("v1.36.3", "v1.36.3"),
		ofVersion("v1.37.1", "v1.37.1")
	later := ofVersion("v1.37.1", "v1.35.4")
	for _, row := range []struct {
		name    string
		states  []rollout.State
		runs    []*change.Cluster
		hop     string
		refused bool
		first   string // the title of the first step that is no snapshot
	}{
		{"nothing is done", states(a, b, c), []*change.Cluster{a, a, a, a}, "1 of 2", false,
			"replace cp-1 … cp-3, 1 at a time"},
		{"half of the first hop", states(a, b, c), []*change.Cluster{b, b, a, a}, "1 of 2", false,
			"replace cp-3"},
		{"its worker is left, whose kubelet may stay", states(a, b, c),
			[]*change.Cluster{b, b, b, a}, "2 of 2", false, "replace cp-1 … cp-3, 1 at a time"},
		{"half of the second", states(a, b, c), []*change.Cluster{c, b, b, b}, "2 of 2", false,
			"replace cp-2, cp-3, 1 at a time"},
		{"the end", states(a, b, c), []*change.Cluster{c, c, c, c}, "2 of 2", false, ""},
		{"a worker that stays behind", states(a, ofVersion("v1.36.3", "v1.35.4"), later),
			[]*change.Cluster{later, later, later, a}, "2 of 2", false, ""},
		{"two minors side by side", states(a, b, c), []*change.Cluster{c, a, a, a}, "2 of 2", true,
			""},
		{"a worker that is ahead", states(a, b, c), []*change.Cluster{a, a, a, c}, "1 of 2", false,
			"replace cp-1 … cp-3, 1 at a time"},
		{"an upgrade is taken back half way", states(a, b, a), []*change.Cluster{b, a, a, a}, "",
			true, ""},
		{"and when only workers are left", states(a, b, a), []*change.Cluster{b, b, b, a}, "", true,
			""},
		{"and nothing was done", states(a, b, a), []*change.Cluster{a, a, a, a}, "", false, ""},
		{"and is done after all", states(a, b, a, b), []*change.Cluster{b, a, a, a}, "", false,
			"replace cp-2, cp-3, 1 at a time"},
		{"one minor", states(b, b, c), []*change.Cluster{b, b, b, b}, "", false,
			"replace cp-1 … cp-3, 1 at a time"},
	} {
		p := next(t, row.states, runningFrom(row.runs...))
		require.Equal(t, row.refused, len(p.Refused) > 0, row.name)
		require.True(t, strings.HasPrefix(p.Hop, row.hop), "%s: %s", row.name, p.Hop)
		require.Equal(t, row.hop == "", p.Hop == "", row.name)
		title := ""
		for _, s := range p.List {
			if s.Do != rollout.Snapshot {
				title = s.Title()
				break
			}
		}
		require.Equal(t, row.first, title, row.name)
	}
}

// withObject gives control planes an API object with this path in the API, in a file of this name.
func withObject(c *change.Cluster, file, path, content string) *change.Cluster {
	index := change.Key{Kind: "file", ID: change.ObjectsDir + "index"}
	for _, m := range c.Machines[:3] {
		list := m.Entries.Find(index)
		if list == nil {
			list = &change.Entry{Key: index}
			m.Entries = append(m.Entries, list)
		}
		list.Shown = append(list.Shown, file+" is "+path)
		m.Entries = append(m.Entries, &change.Entry{
			Key:     change.Key{Kind: "file", ID: change.ObjectsDir + file},
			Content: []byte(content),
		})
		slices.SortFunc(m.Entries, func(a, b *change.Entry) int { return a.Compare(b.Key) })
	}
	return c
}

// TestObjects: what one object of two states does to the steps. A worker is drained next, so that
// pods of a changed object must be new by then.
func TestObjects(t *testing.T) {
	t.Parallel()
	const (
		deployment = "/apis/apps/v1/namespaces/ns/deployments/x"
		other      = "/apis/apps/v1beta1/namespaces/ns/deployments/x"
		daemonSet  = "/apis/apps/v1/namespaces/ns/daemonsets/x"
		replicaSet = "/apis/apps/v1/namespaces/ns/replicasets/x"
		odd        = "/apis/example.test/v1beta1/odds/x"
		named      = "metadata: {namespace: ns}\n"
		hint       = "  # go on if a machine is down or comes later"
	)
	apply := func(kubectl string) []string {
		return []string{"kiln unpack nodes/cp-1 --out objects --show-secrets &&", kubectl +
			" apply --server-side --force-conflicts -f objects" + change.ObjectsDir + "001-x.yaml",
			"rm -r objects"}
	}
	for _, row := range []struct {
		name, path, was, now string
		how, wait            []string
		delete               string
	}{
		{"deployment", deployment, "{}", named, apply("kubectl"),
			[]string{"kubectl -n ns rollout status deployment x" + hint}, ""},
		{"another version of the API", other, "{}", named, apply("kubectl"),
			[]string{"kubectl -n ns rollout status deployment x" + hint}, ""},
		{"it names no namespace", deployment, "{}", "a: 1", apply("kubectl -n ns"),
			[]string{"kubectl -n ns rollout status deployment x" + hint}, ""},
		{"daemon set", daemonSet, "{}", named, apply("kubectl"),
			[]string{"kubectl -n ns rollout status daemonset x" + hint}, ""},
		{"its pods are deleted by hand", daemonSet, "{}", named +
			"spec: {updateStrategy: {type: OnDelete}}", apply("kubectl"), nil, ""},
		{"paused", deployment, "{}", named + "spec: {paused: true}", apply("kubectl"), nil, ""},
		{"without pods", replicaSet, "{}", named, apply("kubectl"), nil, ""},
		{"new", deployment, "", named, apply("kubectl"), nil, ""},
		{"equal", deployment, named, named, nil, nil, ""},
		{"strange", deployment, "{}", named + "spec: 1", apply("kubectl"), nil, ""},
		{"gone", deployment, "{}", "", nil, nil,
			"kubectl -n ns delete --ignore-not-found deployments.apps x"},
		{"gone, of the whole cluster", odd, "{}", "", nil, nil,
			"kubectl delete --ignore-not-found odds.example.test x"},
		{"gone, with what is in it", "/api/v1/namespaces/x", "{}", "", nil, nil,
			"kubectl delete --ignore-not-found namespaces x" +
				"  # with everything in it, data of its volumes too"},
		{"gone, with data", "/api/v1/namespaces/ns/persistentvolumeclaims/x", "{}", "", nil, nil,
			"kubectl -n ns delete --ignore-not-found persistentvolumeclaims x" +
				"  # with its data, unless its volume says Retain"},
		{"gone, and data stays", "/apis/apps/v1/namespaces/ns/statefulsets/x", "{}", "", nil, nil,
			"kubectl -n ns delete --ignore-not-found statefulsets.apps x"},
		{"gone, with a namespace that is a flag", "/api/v1/namespaces/--all/configmaps/x", "{}", "",
			nil, nil, "by hand, with kubectl delete: 001-x.yaml, which is no longer rendered"},
		{"gone, a bootstrap token",
			manifests.TokenPath("/api/v1/namespaces/kube-system/secrets/x", "token/blue g1"),
			"{}", "", nil, nil,
			"kubectl -n kube-system delete secret NAME  # the bootstrap token of " +
				"002-x.yaml; its NAME: kubectl -n kube-system get secrets --field-selector " +
				"type=bootstrap.kubernetes.io/token -o yaml, whose description (base64) names " +
				"the machines"},
		{"gone, and nobody says what it is", "", "{}", "", nil, nil,
			"by hand, with kubectl delete: 001-x.yaml, which is no longer rendered"},
	} {
		old, now := ofVersion("v1.36.2", "v1.36.2"), ofVersion("v1.36.3", "v1.36.3")
		if row.was != "" {
			withObject(old, "002-x.yaml", strings.Replace(row.path, "v1beta1", "v1", 1), row.was)
		}
		if row.now != "" {
			withObject(now, "001-x.yaml", row.path, row.now)
		}
		p := planned(t, old, now, nil)
		how, wait, deleted := objectSteps(p)
		require.Equal(t, row.how, how, row.name)
		require.Equal(t, row.wait, wait, row.name)
		require.Equal(t, strings.Replace(row.delete, "001-", "002-", 1), deleted, row.name)
	}
}

// objectSteps returns what is typed for API objects, what is waited for, and what deletes one.
func objectSteps(p *rollout.Steps) (how, wait []string, deleted string) {
	for _, s := range p.List {
		switch s.Do {
		case rollout.Apply:
			how, wait = rollout.Texts(s.How), rollout.Texts(s.Wait)
		case rollout.Delete:
			deleted = rollout.Texts(s.How)[1]
		}
	}
	return how, wait, deleted
}

// TestMarker: the marker in the API decides which objects are left, and says nothing of tokens.
func TestMarker(t *testing.T) {
	t.Parallel()
	const maps, secrets = "/api/v1/namespaces/kube-system/configmaps/",
		"/api/v1/namespaces/kube-system/secrets/"
	state := func(version, digest, x, y, token string) *change.Cluster {
		c := ofVersion(version, version)
		add(c, "z", "worker", false, true)
		withObject(c, "001-configmap-x.yaml", maps+"x", x+": {namespace: x}")
		withObject(c, "002-configmap-y.yaml", maps+"y", y+": {namespace: x}")
		withObject(c, "003-secret-bootstrap-token-z.yaml",
			secrets+"bootstrap-token-<id of "+token+">", "")
		for _, m := range c.Machines[:3] {
			e := m.Entries.Find(change.Key{Kind: "file",
				ID: change.ObjectsDir + "003-secret-bootstrap-token-z.yaml"})
			e.Secret = token
		}
		return withObject(c, "004-configmap-kiln.yaml", maps+"kiln",
			"data: {objects: '"+digest+"'}")
	}
	a := state("v1.36.1", "1", "metadata", "metadata", "token/z g1")
	b := state("v1.36.2", "2", "x", "metadata", "token/z g1")
	c := state("v1.36.3", "3", "x", "y", "token/z g1")
	d := state("v1.36.4", "3", "x", "y", "token/z g2")
	const x, y, token, kiln = "001-configmap-x.yaml", "002-configmap-y.yaml",
		"kubectl apply --server-side --force-conflicts -f z-token.yaml", "004-configmap-kiln.yaml"
	for _, row := range []struct {
		name   string
		states []*change.Cluster
		marker string
		want   []string
		asks   bool // nothing says whether the step was done
	}{
		{"not known", []*change.Cluster{a, b}, "", []string{x, kiln}, true},
		{"the older state's", []*change.Cluster{a, b}, "1", []string{x, kiln}, false},
		{"the newer state's", []*change.Cluster{a, b}, "2", nil, false},
		{"an earlier one's", []*change.Cluster{a, b, c}, "1", []string{x, y, kiln}, false},
		{"the older one's, of three", []*change.Cluster{a, b, c}, "2", []string{y, kiln}, false},
		{"of no state", []*change.Cluster{b, c}, "9",
			[]string{x, "001-coredns.yaml", y, kiln}, false},
		{"a token", []*change.Cluster{c, d}, "3", []string{token}, true},
		{"a token of an earlier change", []*change.Cluster{c, d, d}, "3", []string{token}, true},
	} {
		r := runningFrom(row.states[0], row.states[0], row.states[0], row.states[0])
		r.Objects = row.marker
		p := next(t, states(row.states...), r)
		how, _, _ := objectSteps(p)
		var got []string
		for _, line := range how {
			if strings.Contains(line, " apply ") {
				line = strings.TrimSuffix(line, " &&")
				got = append(got, line[strings.LastIndex(line, "/")+1:])
			}
		}
		require.Equal(t, row.want, got, row.name)
		require.Equal(t, row.asks, len(how) > 0 && strings.HasPrefix(how[0], "if it is not done"),
			row.name)
	}
}

// TestFailedObject: an object that the API server refuses keeps the marker from being applied, and
// what was unpacked is removed all the same.
func TestFailedObject(t *testing.T) {
	t.Parallel()
	old, now := ofVersion("v1.36.2", "v1.36.2"), ofVersion("v1.36.3", "v1.36.3")
	withObject(now, "003-x.yaml", "/api/v1/namespaces/ns/configmaps/x", "a: 1")
	withObject(now, "004-y.yaml", "/api/v1/namespaces/ns/configmaps/y", "a: 1")
	p := planned(t, old, now, nil)
	how, _, _ := objectSteps(p)
	require.Len(t, how, 4)
	require.True(t, strings.HasSuffix(how[0], " &&"))
	require.True(t, strings.HasSuffix(how[1], "003-x.yaml &&"))
	require.True(t, strings.HasSuffix(how[2], "004-y.yaml"))
	require.Equal(t, "rm -r objects", how[3])
}

// TestAdministrators: a plan that knows no state of the objects does not give admin.conf the rights
// back that somebody has taken away, unless the binding itself changes.
func TestAdministrators(t *testing.T) {
	t.Parallel()
	const file, binding = "003-clusterrolebinding-x.yaml",
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:cluster-admins"
	a := withObject(ofVersion("v1.36.1", "v1.36.1"), file, binding, "a: 1")
	b := withObject(ofVersion("v1.36.2", "v1.36.2"), file, binding, "a: 1")
	c := withObject(ofVersion("v1.36.3", "v1.36.3"), file, binding, "a: 2")
	for _, row := range []struct {
		states []*change.Cluster
		want   bool
	}{{[]*change.Cluster{a, b}, false}, {[]*change.Cluster{a, b, c}, true}} {
		r := runningFrom(a, a, a, a)
		r.Objects = "9"
		p := next(t, states(row.states...), r)
		how, _, _ := objectSteps(p)
		text := strings.Join(how, "\n")
		require.Contains(t, text, "001-coredns.yaml")
		require.Equal(t, row.want, strings.Contains(text, file))
		require.Contains(t, text, "docs/leaked.md")
	}
}

// TestHopFolder: nodes has the documents of the last state. A command of an earlier hop that is
// typed as it stands finds no documents, and not those of another hop.
func TestHopFolder(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/n/configmaps/x"
	a := withObject(ofVersion("v1.35.4", "v1.35.4"), "003-x.yaml", path, "a: 1")
	b := withObject(ofVersion("v1.36.3", "v1.36.3"), "003-x.yaml", path, "a: 2")
	c := withObject(ofVersion("v1.37.1", "v1.37.1"), "003-x.yaml", path, "a: 3")
	const unpack = " --out objects --show-secrets &&  # "
	first := "kiln unpack NODES/cp-1" + unpack + "NODES: the documents of B"
	second := "kiln unpack nodes/cp-1" + unpack + "nodes: the documents of C"
	h, err := rollout.NewHops(states(a, b, c), rollout.Options{MaxUnavailable: "1"})
	require.NoError(t, err)
	for i, want := range []string{first, second} {
		how, _, _ := objectSteps(h.List[i])
		require.Equal(t, want, how[0])
	}
	for want, runs := range map[string]*change.Cluster{first: a, second: b} {
		p := next(t, states(a, b, c), runningFrom(runs, runs, runs, runs))
		how, _, _ := objectSteps(p)
		require.Equal(t, want, how[1])
	}
}

// TestBalancerTokens: settings for a balancer wait for workers that have one, and a token does not
// wait for the machines that join with it.
func TestBalancerTokens(t *testing.T) {
	t.Parallel()
	old, now := ofVersion("v1.36.3", "v1.36.3"), ofVersion("v1.36.3", "v1.36.3")
	add(now, "blue", "worker", false, true)
	withObject(old, "003-configmap-x.yaml", "/api/v1/namespaces/n/configmaps/x", "a: 1")
	withObject(now, "003-configmap-x.yaml", "/api/v1/namespaces/n/configmaps/x", "a: 2")
	withObject(now, "004-secret-bootstrap-token-blue.yaml",
		"/api/v1/namespaces/kube-system/secrets/bootstrap-token-<id of token/blue g1>", "")
	m := now.Machines[3]
	m.Entries = append(m.Entries, &change.Entry{
		Key: change.Key{Kind: "file", ID: "/etc/kubernetes/haproxy.cfg"}, Content: []byte("a")})
	slices.SortFunc(m.Entries, func(a, b *change.Entry) int { return a.Compare(b.Key) })
	p := planned(t, old, now, nil)
	var got []string
	for _, s := range p.List {
		got = append(got, s.Do+" "+strings.Join(append(s.Machines, s.Pools...), " "))
		if s.Do == rollout.Apply {
			got[len(got)-1] = s.How[1].Text[strings.LastIndex(s.How[1].Text, "/")+1:]
		}
	}
	require.Equal(t, []string{"kubectl apply --server-side --force-conflicts -f blue-token.yaml",
		"add blue", "restart worker-1", "003-configmap-x.yaml"}, got)
}

// TestHopObjects: the next hop begins when the control planes of one are there, so that it also
// applies the objects that only the hop before has changed.
func TestHopObjects(t *testing.T) {
	t.Parallel()
	a := withObject(ofVersion("v1.35.4", "v1.35.4"), "configmap-x.yaml", "", "data: 1\n")
	b := withObject(ofVersion("v1.36.3", "v1.36.3"), "configmap-x.yaml", "", "data: 2\n")
	c := withObject(ofVersion("v1.37.1", "v1.37.1"), "configmap-x.yaml", "", "data: 2\n")
	applies := func(runs ...*change.Cluster) bool {
		p := next(t, states(a, b, c), runningFrom(runs...))
		return slices.ContainsFunc(p.List, func(s rollout.Step) bool {
			return s.Do == rollout.Apply && slices.ContainsFunc(s.How, func(l rollout.Line) bool {
				return strings.HasSuffix(l.Text, "/configmap-x.yaml")
			})
		})
	}
	require.True(t, applies(b, a, a, a))
	require.True(t, applies(b, b, b, a))
	require.True(t, applies(c, b, b, a))
	require.False(t, applies(c, c, c, c), "the worker came after the objects")
}

// TestLaggard: a machine that lags takes no refusal away. From trust a root may be given up, and
// from issue it may not.
func TestLaggard(t *testing.T) {
	t.Parallel()
	at := func(position int) *change.Cluster {
		c := &change.Cluster{Name: "c", UUID: "u", Version: dot, Properties: change.Properties{
			{Name: "rotation ca", Value: rotated(position)},
		}}
		for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
			add(c, name, "control-plane", true, false)
		}
		add(c, "worker-1", "worker", false, false)
		return c
	}
	trust, issue, given := at(1), at(2), at(0)
	for _, last := range []*change.Cluster{trust, issue, given} {
		p := next(t, states(trust, issue, given), runningFrom(issue, issue, issue, last))
		require.Len(t, p.Refused, 1)
		require.Equal(t, "rotation", p.Refused[0].Name)
	}
}
