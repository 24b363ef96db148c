package rollout_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

var (
	rollouts     = flag.Int("rollouts", 500, "how many random roll-outs TestRollouts follows")
	rolloutsFrom = flag.Int("rollouts-from", 0, "the number of the first one")
)

// world is a cluster that runs. The test changes it as the steps of a plan say, and fails if a step
// would break it.
type world struct {
	t        *testing.T
	r        *rand.Rand
	old, new *change.Cluster
	earlier  []*change.Cluster
	machines map[string]*aMachine // by the name of the Node, or of the etcd machine
	applied  bool                 // the API objects
	marker   string               // the digest of those that were applied; empty if nobody tells it
	done     []string             // --done
	position int                  // of the root ca in the newer state
	log      []string
}

// aMachine is a machine that has power, or had it.
type aMachine struct {
	name, pool, role string
	document         *change.Machine // nil: one that nobody knows
	hook             string
	up, cordoned     bool
	member           bool
	labels           map[string]string
	position         int // of the root ca in the document
	minor            int // of the kubelet
}

const dot = "v1.36.3"

// Files that kiln apply writes; with the second one the kubelet starts anew.
const (
	settings = "/etc/sysctl.d/90-kiln.conf"
	kubelet  = "/var/lib/kubelet/config.yaml"
)

// rotated returns the state of the root ca in a position.
func rotated(position int) string {
	r := pki.Rotation{Generation: 1 + position/3}
	r.Stage = []pki.Stage{pki.Settled, pki.Trust, pki.Issue}[position%3]
	return r.String()
}

// randomCluster returns a cluster with control planes, perhaps etcd machines, workers and pools.
func randomCluster(r *rand.Rand, position int) *change.Cluster {
	name := []string{"c", "fetches"}[r.IntN(2)] // its machines fetch their kubelets
	c := &change.Cluster{Name: name, UUID: "u", Version: dot, Properties: change.Properties{
		{Name: "endpoint", Value: "https://api:6443"},
		{Name: "rotation ca", Value: rotated(position)},
	}}
	external := r.IntN(4) == 0
	for i := range []int{1, 3, 3, 3, 5}[r.IntN(5)] {
		add(c, fmt.Sprintf("cp-%d", i+1), "control-plane", !external, false)
	}
	if external {
		for i := range 3 {
			add(c, fmt.Sprintf("etcd-%d", i+1), "etcd", true, false)
		}
	}
	for i := range r.IntN(6) {
		add(c, fmt.Sprintf("worker-%d", i+1), "worker", false, false)
	}
	for i := range r.IntN(3) {
		add(c, fmt.Sprintf("pool-%d", i+1), "worker", false, true)
	}
	return c
}

// add adds a machine to a cluster.
func add(c *change.Cluster, name, role string, member, pool bool) {
	m := &change.Machine{
		Name: name, Role: role, OS: "flatcar", Platform: "metal", Format: "ignition", Pool: pool,
		Properties: change.Properties{
			{Name: "kubelet", Value: c.Version}, {Name: "addresses", Value: "addr-" + name},
		},
	}
	file := func(path, content string) {
		m.Entries = append(m.Entries, &change.Entry{
			Key: change.Key{Kind: "file", ID: path}, Content: []byte(content),
		})
	}
	if role == "control-plane" {
		file("/etc/kiln/objects/001-coredns.yaml", "a: 1\n")
		file("/etc/kiln/objects/002-configmap-kiln.yaml", "data: {objects: '1'}\n")
		m.Entries = append(m.Entries, &change.Entry{
			Key: change.Key{Kind: "file", ID: "/etc/kiln/objects/index"},
			Shown: []string{"001-coredns.yaml is /apis/apps/v1/namespaces/x/deployments/coredns",
				"002-configmap-kiln.yaml is " + manifests.MarkerPath},
		})
	}
	if member {
		file("/etc/kubernetes/manifests/etcd.yaml", "a: 1\n")
	}
	file("/etc/kubernetes/pki/ca.crt", c.Properties.Value("rotation ca"))
	file("/etc/hostname", "1\n")
	if c.Name == "fetches" {
		file(plan.ArtifactList, c.Version+" "+c.Version+" /opt/bin/kubelet - - https://dl\n")
	}
	file(settings, "a = 1\n")
	file(kubelet, "maxPods: 1\n")
	slices.SortFunc(m.Entries, func(a, b *change.Entry) int { return a.Compare(b.Key) })
	c.Machines = append(c.Machines, m)
}

// edit gives a machine of a cluster another content of a file.
func edit(c *change.Cluster, i int, path, content string) {
	m := *c.Machines[i]
	m.Entries = slices.Clone(m.Entries)
	for j, e := range m.Entries {
		if e.ID == path {
			m.Entries[j] = &change.Entry{Key: e.Key, Content: []byte(content)}
		}
	}
	c.Machines[i] = &m
}

// changed returns a newer state of a cluster.
func changed(r *rand.Rand, c *change.Cluster, position int) *change.Cluster {
	now := *c
	now.Machines = slices.Clone(c.Machines)
	all := func(path, content string) {
		for i := range now.Machines {
			edit(&now, i, path, content)
		}
	}
	switch r.IntN(9) {
	case 0, 1:
		all("/etc/hostname", "2\n")
	case 8: // nothing else
	case 2:
		now.Version = "v1.37.1"
		for i := range now.Machines {
			m := *now.Machines[i]
			m.Properties = slices.Clone(m.Properties)
			m.Properties[0].Value = now.Version
			now.Machines[i] = &m
			edit(&now, i, plan.ArtifactList,
				now.Version+" "+now.Version+" /opt/bin/kubelet - - https://dl\n")
		}
	case 3, 4: // a root goes on by a stage
		now.Properties = slices.Clone(c.Properties)
		now.Properties[1].Value = rotated(position + 1)
		all("/etc/kubernetes/pki/ca.crt", rotated(position+1))
	default:
		for i := range now.Machines {
			if r.IntN(2) == 0 {
				edit(&now, i, "/etc/hostname", "2\n")
			}
		}
	}
	if r.IntN(3) == 0 {
		all(settings, "a = 2\n")
	}
	if r.IntN(3) == 0 {
		all(kubelet, "maxPods: 2\n")
	}
	// Machines come and go; at least half of the members stay.
	members, removed := 0, 0
	for _, m := range now.Machines {
		if m.Member() {
			members++
		}
	}
	now.Machines = slices.DeleteFunc(now.Machines, func(m *change.Machine) bool {
		gone := r.IntN(8) == 0 && m.Name != "cp-1"
		if gone && m.Member() {
			if members < 3 || 2*(removed+1) >= members {
				return false
			}
			removed++
		}
		return gone
	})
	for i := range r.IntN(3) {
		add(&now, fmt.Sprintf("worker-%d", i+20), "worker", false, false)
	}
	if r.IntN(6) == 0 && slices.ContainsFunc(now.Machines, func(m *change.Machine) bool {
		return m.Member() && m.Role == "control-plane"
	}) {
		add(&now, "cp-20", "control-plane", true, false)
		add(&now, "cp-21", "control-plane", true, false)
	}
	if r.IntN(4) == 0 {
		moveAddress(r, c, &now)
	}
	if r.IntN(3) == 0 {
		all("/etc/kiln/objects/001-coredns.yaml", "a: 2\n")
		all("/etc/kiln/objects/002-configmap-kiln.yaml", "data: {objects: '2'}\n")
	}
	return &now
}

// moveAddress gives a machine of the newer state a new address, or the one that another machine had
// before. Of the latter a machine that stays gets a new address.
func moveAddress(r *rand.Rand, old, now *change.Cluster) {
	set := func(name, address string) {
		for i, m := range now.Machines {
			if m.Name == name && !m.Pool {
				m := *m
				m.Properties = slices.Clone(m.Properties)
				m.Properties[1].Value = address
				now.Machines[i] = &m
			}
		}
	}
	from := old.Machines[r.IntN(len(old.Machines))]
	if from.Pool {
		return
	}
	set(from.Name, "addr-new")
	if to := now.Machines[r.IntN(len(now.Machines))]; r.IntN(2) == 0 && !to.Pool &&
		to.Name != from.Name {
		set(to.Name, from.Properties.Value("addresses"))
	}
}

// newWorld returns a cluster in the older state, with an earlier roll-out that was not finished:
// some machines run a document that nobody knows, or are down.
func newWorld(t *testing.T, seed int) *world {
	r := rand.New(rand.NewPCG(uint64(seed), 23))
	position := r.IntN(3)
	w := &world{t: t, r: r, machines: map[string]*aMachine{}}
	w.old = randomCluster(r, position)
	if r.IntN(2) == 0 {
		w.marker = running.Objects(w.old)
	}
	w.new = changed(r, w.old, position)
	state, err := pki.ParseRotation(w.new.Properties.Value("rotation ca"))
	require.NoError(t, err)
	w.position = state.Position()
	before := *w.old
	before.Machines = slices.Clone(w.old.Machines)
	if r.IntN(3) == 0 {
		for i := range before.Machines {
			edit(&before, i, "/etc/hostname", "0\n")
		}
		w.earlier = append(w.earlier, &before)
	}
	for i, m := range w.old.Machines {
		if r.IntN(4) == 0 && m.Role != "etcd" {
			m = before.Machines[i]
		}
		number := 1
		if m.Pool {
			number = r.IntN(4)
		}
		for i := range number {
			name := m.Name
			if m.Pool {
				name = fmt.Sprintf("%s-x%d", m.Name, i)
			}
			a := w.boot(name, m, w.old)
			a.hook = "done done"
			if m.Role == "worker" && !m.Pool && r.IntN(8) == 0 {
				a.document = nil
			}
			a.up = m.Role == "etcd" || r.IntN(12) != 0 || m.Member()
		}
	}
	return w
}

// boot gives a machine a document.
func (w *world) boot(name string, m *change.Machine, c *change.Cluster) *aMachine {
	a := &aMachine{name: name, role: m.Role, document: m, up: true, member: m.Member(),
		hook: "running pods", labels: map[string]string{}}
	if m.Pool {
		a.pool = m.Name
	}
	state, err := pki.ParseRotation(c.Properties.Value("rotation ca"))
	require.NoError(w.t, err)
	a.position = state.Position()
	_, err = fmt.Sscanf(c.Version, "v1.%d.", &a.minor)
	require.NoError(w.t, err)
	w.machines[name] = a
	return a
}

// nodes returns what kubectl get nodes says.
func (w *world) nodes() (out []running.Node) {
	for _, a := range w.machines {
		if a.role == "etcd" {
			continue
		}
		n := running.Node{
			Name: a.name, Twin: strings.Repeat("0", 64), Ready: a.up && a.hook != "running pods",
			Cordoned: a.cordoned, Hook: a.hook, Kubelet: fmt.Sprintf("v1.%d.0", a.minor),
			Labels: a.labels,
		}
		if a.document != nil {
			n.Twin = review.Digest(a.document)
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b running.Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// plan returns what is left to do.
func (w *world) plan(force ...string) *rollout.Steps {
	p, err := rollout.New(change.Compare(w.old, w.new), rollout.Options{
		MaxUnavailable: "2", Force: force,
		Running: &running.Running{
			Nodes: w.nodes(), Earlier: w.earlier, Done: w.done, Digest: review.Digest,
			Objects: w.marker,
		},
	})
	require.NoError(w.t, err)
	return p
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) require(ok bool, format string, args ...any) {
	w.t.Helper()
	require.True(w.t, ok, "%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
}

// follow does some of the first step of a plan, as a person would who may be called away: whole, or
// in part, or the machine does not come at once. It reports false if there is nothing to do.
func (w *world) follow(p *rollout.Steps) bool {
	for i := range p.List {
		s := &p.List[i]
		switch s.Do {
		case rollout.Apply:
			if w.applied && w.marker == "" {
				continue // the plan cannot know
			}
			w.require(!w.applied, "the objects are applied twice")
			first := s.How[0].Text
			w.require(strings.HasPrefix(first, "if it is not done yet") == (w.marker == ""),
				"the step says: %s", first)
			w.say("apply")
			w.applied = true
			if w.marker != "" {
				w.marker = running.Objects(w.new)
			}
		case rollout.Wait:
			for _, name := range s.Machines {
				w.finish(name)
			}
			for _, pool := range s.Pools {
				for name, a := range w.machines {
					if a.pool == pool {
						w.finish(name)
					}
				}
			}
		case rollout.Delete:
			continue // it stays, because nothing says that it was done
		case rollout.Snapshot, rollout.Restore:
			continue // of the only member, whose replacement is between them
		case rollout.Add:
			w.add(s)
		case rollout.Replace:
			w.replace(s)
		case rollout.Remove:
			w.remove(s)
		case rollout.Restart:
			w.write(s)
			return true
		case rollout.Live:
			if strings.HasPrefix(rollout.Texts(s.How)[0], "kiln apply ") {
				w.write(s)
				return true
			}
			words := strings.Fields(s.How[len(s.How)-1].Command)
			w.require(len(words) > 2 && words[1] == "uncordon", "%q", rollout.Texts(s.How))
			for _, name := range words[2:] {
				w.say("uncordon %s", name)
				w.machines[name].cordoned = false
			}
		default:
			w.t.Fatalf("step %s", s.Do)
		}
		return true
	}
	return false
}

// finish lets a machine come to its end, perhaps.
func (w *world) finish(name string) {
	if a := w.machines[name]; w.r.IntN(3) > 0 && (!a.up || a.hook != "done done") {
		w.say("%s is done", name)
		a.hook, a.up = "done done", true
	}
}

// machine returns a machine of the newer state.
func (w *world) machine(name string) *change.Machine {
	i := slices.IndexFunc(w.new.Machines, func(m *change.Machine) bool { return m.Name == name })
	w.require(i >= 0, "%s is not in the newer state", name)
	return w.new.Machines[i]
}

func (w *world) add(s *rollout.Step) {
	for _, name := range s.Machines {
		w.require(w.machines[name] == nil, "%s is added, and is there", name)
		m := w.machine(name)
		w.say("add %s", name)
		w.healthy(m.Member(), "")
		w.give(name, m)
		if m.Member() || w.r.IntN(2) == 0 {
			return // the others after the next plan
		}
	}
	for _, pool := range s.Pools {
		w.say("add pool %s", pool)
		w.give(pool+"-x9", w.machine(pool))
	}
}

// give gives a machine its newer document. It may not come at once.
func (w *world) give(name string, m *change.Machine) {
	a := w.boot(name, m, w.new)
	if w.r.IntN(2) == 0 || m.Role == "etcd" {
		a.hook = "done done"
	}
	if m.Role == "etcd" {
		w.done = append(w.done, name)
	}
	w.trusted(a)
	for _, other := range w.machines {
		if other.document == nil {
			continue
		}
		w.require(m.Pool || other.name == name || !slices.ContainsFunc(m.Addresses(),
			func(a string) bool { return slices.Contains(other.document.Addresses(), a) }),
			"%s and %s have the address %s", name, other.name, m.Properties.Value("addresses"))
	}
	w.newest(a)
}

// newest requires that no worker's kubelet is of a newer minor than an API server.
func (w *world) newest(a *aMachine) {
	for _, other := range w.machines {
		w.require(other.document == nil || a.role != "worker" || other.role != "control-plane" ||
			a.minor <= other.minor, "%s is newer than %s", a.name, other.name)
	}
}

// trusted requires that a machine and the others trust each other.
func (w *world) trusted(a *aMachine) {
	for _, other := range w.machines {
		w.require(other.document == nil ||
			other.position-a.position <= 1 && a.position-other.position <= 1,
			"%s and %s do not trust each other", a.name, other.name)
	}
}

// healthy requires that etcd may lose the machine named, or gain one: every other member is there.
func (w *world) healthy(member bool, name string) {
	if !member {
		return
	}
	for _, a := range w.machines {
		if a.member && a.name != name {
			w.require(a.up && a.hook == "done done", "%s is away, and %s goes", a.name, name)
		}
	}
}

func (w *world) replace(s *rollout.Step) {
	targets := slices.Clone(s.Machines)
	atATime := s.AtATime
	if len(s.Pools) > 0 {
		targets, atATime = s.Nodes, 2
		w.require(len(targets) > 0, "pool %s is replaced, and has no machine for it", s.Pools[0])
	}
	away := 0
	for _, name := range targets {
		a := w.machines[name]
		w.require(a != nil, "%s is replaced, and is not there", name)
		if away++; away > max(1, atATime) {
			break
		}
		w.say("replace %s", name)
		w.healthy(a.member, name)
		m := w.machine(cmp.Or(a.pool, name))
		w.require(!w.takes(a, m), "%s is replaced, and could be changed while it runs", name)
		if a.role == "worker" {
			w.require(w.applied || !w.changesObjects(), "%s comes before the objects", name)
		}
		w.give(name, m)
		w.machines[name].cordoned = a.role != "etcd" && w.r.IntN(2) == 0 // then forgotten
		if w.r.IntN(3) == 0 {
			break // the person is called away
		}
	}
}

// write gives machines their newer document while they run. The person may be called away.
func (w *world) write(s *rollout.Step) {
	w.require(len(s.Pools) == 0 || len(s.Nodes) > 0, "a pool is changed, and has no machine for it")
	for _, name := range slices.Concat(s.Machines, s.Nodes) {
		a := w.machines[name]
		w.require(a != nil, "%s is changed, and is not there", name)
		m := w.machine(cmp.Or(a.pool, name))
		w.require(w.takes(a, m), "%s is changed while it runs, and needs a replacement", name)
		if content(a.document, kubelet) != content(m, kubelet) {
			w.require(s.Do == rollout.Restart, "%s restarts its kubelet, and nothing says so", name)
		}
		w.say("%s %s", s.Do, name)
		if s.Do == rollout.Restart {
			w.healthy(a.member, name)
		}
		if now := m.Properties.Value("kubelet"); a.document.Properties.Value("kubelet") != now {
			w.require(a.role == "etcd" || strings.Contains(fmt.Sprint(s.How), "kubectl drain"),
				"%s gets another minor of its kubelet with its pods", name)
			_, err := fmt.Sscanf(now, "v1.%d.", &a.minor)
			require.NoError(w.t, err)
		}
		a.document, a.position = m, w.position
		w.trusted(a)
		w.newest(a)
		if a.role == "etcd" {
			w.done = append(w.done, name)
		}
		if w.r.IntN(3) == 0 {
			return
		}
	}
}

// takes reports whether a machine can become the newer one while it runs.
func (w *world) takes(a *aMachine, m *change.Machine) bool {
	const name = "/etc/hostname"
	return a.document != nil && (a.position == w.position || a.pool == "") &&
		content(a.document, name) == content(m, name) &&
		(w.new.Name == "fetches" ||
			a.document.Properties.Value("kubelet") == m.Properties.Value("kubelet")) &&
		a.document.Properties.Value("addresses") == m.Properties.Value("addresses")
}

// content returns the content of a machine's file.
func content(m *change.Machine, path string) string {
	return string(m.Entries.Find(change.Key{Kind: "file", ID: path}).Content)
}

// changesObjects reports whether the newer state has other API objects.
func (w *world) changesObjects() bool {
	key := change.Key{Kind: "file", ID: "/etc/kiln/objects/001-coredns.yaml"}
	was := string(w.old.Machines[0].Entries.Find(key).Content)
	return string(w.machine("cp-1").Entries.Find(key).Content) != was
}

func (w *world) remove(s *rollout.Step) {
	for _, name := range append(slices.Clone(s.Machines), s.Nodes...) {
		a := w.machines[name]
		w.require(a != nil, "%s is removed, and is not there", name)
		w.say("remove %s", name)
		if a.role == "etcd" {
			w.done = append(w.done, name)
		}
		w.healthy(a.member, name)
		delete(w.machines, name)
		if w.r.IntN(3) == 0 {
			return
		}
	}
}

// requireWanted requires that every machine runs its newer document, or needs nothing of it, and
// that there are no others.
func (w *world) requireWanted(p *rollout.Steps) {
	w.require(w.applied || !w.changesObjects(), "the objects are not applied")
	wanted, later := map[string]bool{}, map[string]bool{}
	for _, v := range p.Machines {
		for _, name := range slices.Concat(v.Machines, v.Pools) {
			later[name] = v.Verdict == rollout.NextReplacement
		}
	}
	for _, m := range w.new.Machines {
		wanted[review.Digest(m)] = true
		if a := w.machines[m.Name]; !m.Pool && !later[m.Name] {
			w.require(a != nil && a.document != nil && review.Digest(a.document) ==
				review.Digest(m) && a.hook == "done done", "%s does not run its newer document",
				m.Name)
		}
	}
	for name, a := range w.machines {
		w.require(!a.cordoned, "%s takes no pods", name)
		w.require(later[cmp.Or(a.pool, name)] ||
			a.document != nil && wanted[review.Digest(a.document)],
			"%s runs another document", name)
	}
}

// TestRollouts follows random roll-outs to their end, planned from what runs after each step. No
// step may take a member of etcd away while another is away, give a machine a document that others
// do not trust, or a kubelet that is newer than an API server. At the end every machine runs its
// newer document.
func TestRollouts(t *testing.T) {
	t.Parallel()
	refused := 0
	for seed := *rolloutsFrom; seed < *rolloutsFrom+*rollouts; seed++ {
		w := newWorld(t, seed)
		w.say("seed %d", seed)
		p := w.plan()
		var force []string
		for _, r := range p.Refused {
			if r.Name == "single-member" {
				force = append(force, r.Name)
			}
		}
		if len(p.Refused) > len(force) {
			refused++
			continue
		}
		p = w.plan(force...)
		for round := 0; w.follow(p); round++ {
			w.require(round < 300, "no end")
			p = w.plan(force...)
			w.require(len(p.Refused) == 0, "refused: %v", p.Refused)
		}
		w.requireWanted(p)
	}
	t.Logf("%d roll-outs, %d of them refused from the beginning", *rollouts, refused)
	require.Less(t, refused, *rollouts/5)
}
