package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kiln/render/change"
	"kiln/render/plan"
)

// sequencer puts the steps into an order in which the cluster keeps running: etcd before the API
// servers that use it, control planes before workers, one member at a time, additions before
// removals.
type sequencer struct {
	diff      *transition
	decisions []*decision
	share     func(total int) int
	list      []Step
}

// share returns a function that says how many of the machines may be away together: a number, or a
// share of them, at least one.
func share(text string) (func(total int) int, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || percent && n > 100 {
		return nil, fmt.Errorf("--max-unavailable %s: write a number from 1, "+
			"or a share such as 10%%", text)
	}
	if !percent {
		return func(int) int { return n }, nil
	}
	return func(total int) int { return max(1, total*n/100) }, nil
}

func (s *sequencer) all() []Step {
	// The policy of the API server refuses what machines with another pod network enter.
	const network = "pod network"
	first := s.diff.old.Properties.Value(network) != s.diff.new.Properties.Value(network)
	if first {
		s.apply()
	}
	for _, role := range []string{etcdRole, controlPlane} {
		s.members(Add, role)
		s.members(Replace, role)
	}
	// kube-proxy of every worker reads its settings from the API. Settings with the worker's own
	// balancer need workers that have one.
	last := !first && s.addsBalancer()
	if !first && !last {
		s.apply()
	}
	s.workers(Add)
	s.workers(Replace)
	if last {
		s.apply()
	}
	s.workers(Remove)
	for _, role := range []string{controlPlane, etcdRole} {
		s.members(Remove, role)
	}
	s.live()
	return s.list
}

// addsBalancer reports whether workers get a balancer of their own that they did not have.
func (s *sequencer) addsBalancer() bool {
	balancer := change.Key{Kind: "file", ID: "/etc/kubernetes/haproxy.cfg"}
	return slices.ContainsFunc(s.decisions, func(f *decision) bool {
		return f.What() == change.Changed && f.Old.Entries.Find(balancer) == nil &&
			f.New.Entries.Find(balancer) != nil
	})
}

// of returns the machines with that verdict and role.
func (s *sequencer) of(verdict, role string) (out []*decision) {
	for _, f := range s.decisions {
		if f.verdict == verdict && f.Machine().Role == role {
			out = append(out, f)
		}
	}
	return out
}

func names(list []*decision) (machines, pools []string) {
	for _, f := range list {
		f.Machine().AddTo(&machines, &pools)
	}
	return machines, pools
}

// live adds the step that changes labels and taints of Nodes, which keep theirs even if their
// machine is replaced.
func (s *sequencer) live() {
	commands := map[string][]*decision{}
	var all []*decision
	for _, f := range s.decisions {
		if f.verdict == Remove || len(f.kubectl) == 0 {
			continue
		}
		all = append(all, f)
		for _, command := range f.kubectl {
			commands[command] = append(commands[command], f)
		}
	}
	if len(all) == 0 {
		return
	}
	step := Step{Do: Live}
	step.Machines, step.Pools = names(all)
	for _, command := range slices.Sorted(maps.Keys(commands)) {
		machines, pools := names(commands[command])
		if len(machines) > 0 {
			step.How = append(step.How, strings.Replace(command, "NAME",
				strings.Join(machines, " "), 1))
		}
		for _, pool := range pools {
			step.How = append(step.How, command+"  # each machine of pool "+pool)
		}
	}
	s.list = append(s.list, step)
}

// apply adds the step for API objects, which the API server keeps unchanged otherwise.
func (s *sequencer) apply() {
	changed, gone := map[string]bool{}, map[string]bool{}
	for _, f := range s.decisions {
		for _, c := range f.Changes {
			name, ok := strings.CutPrefix(c.Name, change.ObjectsDir)
			switch {
			case !ok || name == "index":
			case strings.HasPrefix(name, previousToken):
				// The API server has it, or its Secret was deleted on purpose.
			case c.What == change.Removed:
				gone[name] = true
			default:
				changed[name] = true
			}
		}
	}
	step := Step{Do: Apply}
	tokens := s.tokens(changed)
	if len(changed) > 0 {
		step.How = append(step.How,
			"from a control plane's new "+change.ObjectsDir+", in the order of the numbers in "+
				"front of their names: "+
				"kubectl apply --server-side --force-conflicts -f FILE")
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			step.How = append(step.How, "  "+name)
		}
	}
	if changed["configmap-kube-proxy.yaml"] {
		step.How = append(step.How,
			"kubectl -n kube-system rollout restart daemonset kube-proxy"+
				"  # it reads its settings when it starts")
	}
	step.How = append(step.How, tokens...)
	if len(gone) > 0 {
		step.How = append(step.How, "kubectl delete what is no longer rendered:")
		for _, name := range slices.Sorted(maps.Keys(gone)) {
			step.How = append(step.How, "  "+name)
		}
	}
	if len(step.How) > 0 {
		s.list = append(s.list, step)
	}
}

// The names of files with the Secrets of pools' bootstrap tokens begin like this, without their
// number, and go on with the name of the pool: its token in force, and the one before.
const (
	poolToken     = "secret-" + plan.PoolTokenFile
	previousToken = "secret-" + plan.PreviousTokenFile
)

// tokens takes the Secrets of pools' bootstrap tokens out of the changed objects, and returns the
// commands that apply them: nobody has to unpack the document of a control plane for that.
func (s *sequencer) tokens(changed map[string]bool) (how []string) {
	for _, f := range s.decisions {
		m := f.Machine()
		name := poolToken + m.Name + ".yaml"
		if !m.Pool || !changed[name] {
			continue
		}
		delete(changed, name)
		file := m.Name + "-token.yaml"
		how = append(how, "kiln token manifest "+m.Name+" --out "+file+
			"  # the bootstrap token of pool "+m.Name,
			"kubectl apply --server-side --force-conflicts -f "+file, "rm "+file)
	}
	return how
}

// members adds the steps that add, replace or remove the machines of the control plane, or of etcd:
// one at a time, each with a healthy quorum of the others.
func (s *sequencer) members(verdict, role string) {
	list := s.of(verdict, role)
	if len(list) == 0 {
		return
	}
	step := Step{Do: verdict, AtATime: 1}
	step.Machines, _ = names(list)
	name := placeholder(step.Machines)
	member := slices.ContainsFunc(list, func(f *decision) bool { return f.Machine().Member() })
	several := s.diff.mostMembers() > 1
	if verdict == Replace && member && !several {
		s.replaceOnlyMember(list[0])
		return
	}
	how := func(lines ...string) { step.How = append(step.How, lines...) }
	if verdict != Add && member && several {
		how("etcdctl endpoint health --cluster  # all of them, before it goes")
	}
	if verdict != Add && role == controlPlane {
		how(drain(name))
	}
	// One of two members has no majority while the other one is gone, so it could not take it back.
	pair := s.diff.mostMembers() == 2
	if member && (verdict == Remove || verdict == Replace && pair) {
		how("etcdctl member list  # the ID of "+name, "etcdctl member remove ID")
	}
	switch verdict {
	case Remove:
		how("power it off, and destroy its disk or its document: with both it would join again")
		if role == controlPlane {
			how("kubectl delete node " + name + ", and take it out of the endpoint's load " +
				"balancer if there is one")
		}
	case Add:
		how("give it its document" + s.image(list) + ", and power it on")
	case Replace:
		how("give it its new document and an empty disk" + s.image(list) + ", and power it on")
	}
	if verdict != Remove {
		if role == controlPlane {
			step.Wait = append(step.Wait, ready(name, list[0].Machine()))
		}
		if member && (several || verdict == Add) {
			how("its hook brings the member into etcd; there is nothing to do")
			step.Wait = append(step.Wait,
				"etcdctl member list has "+name+" as started, and no learner")
		}
	}
	if verdict == Add {
		how(labelNode(list[0].New, name)...)
	}
	s.list = append(s.list, step)
}

// workers adds the steps that add, replace or remove workers and machines of pools, a share at a
// time.
func (s *sequencer) workers(verdict string) {
	list := s.of(verdict, worker)
	machines, pools := names(list)
	how := func(name string) (how, wait []string) {
		switch verdict {
		case Remove:
			return []string{drain(name), "power it off, and destroy its disk or its document",
				"kubectl delete node " + name}, nil
		case Add:
			how = []string{"give it its document" + s.image(list) + ", and power it on"}
		default:
			how = []string{drain(name),
				"give it its new document and an empty disk" + s.image(list) + ", and power it on"}
		}
		return how, []string{ready(name, list[0].Machine())}
	}
	if len(machines) > 0 {
		step := Step{Do: verdict, Machines: machines}
		step.How, step.Wait = how(placeholder(machines))
		if verdict == Replace {
			step.AtATime = s.share(len(s.diff.workers()))
		}
		s.list = append(s.list, step)
	}
	for _, pool := range pools {
		step := Step{Do: verdict, Pools: []string{pool}}
		step.How, step.Wait = how("NAME")
		if verdict == Replace {
			first := "of its machines, as many at a time as --max-unavailable says:"
			step.How = append([]string{first}, step.How...)
		}
		s.list = append(s.list, step)
	}
}

// workers returns the names of the running workers.
func (d *transition) workers() (out []string) {
	for _, m := range d.old.Machines {
		if m.Role == worker && !m.Pool {
			out = append(out, m.Name)
		}
	}
	return out
}

// image says which kubelet the machines' images must have, if the version changes: documents do not
// contain a kubelet. Machines that fetch their programs need none in their image.
func (s *sequencer) image(list []*decision) string {
	for _, f := range list {
		if f.New.Entries.Find(change.Key{Kind: "file", ID: plan.ArtifactList}) != nil {
			continue
		}
		if f.Old == nil || f.Old.Properties.Value("kubelet") != f.New.Properties.Value("kubelet") {
			return ", an image with kubelet " + f.New.Properties.Value("kubelet")
		}
	}
	return ""
}

// placeholder returns the name for commands: the only one, or NAME.
func placeholder(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "NAME"
}

func drain(name string) string {
	return "kubectl drain " + name + " --ignore-daemonsets --delete-emptydir-data"
}

// ready returns what to wait for until the Node is ready.
func ready(name string, m *change.Machine) string {
	return "kubectl get node " + name + " says Ready, " + m.Properties.Value("kubelet")
}

// etcdctl says how to run the program beside a member that stays, with the member's own
// certificate.
func (s *sequencer) etcdctl() string {
	const program = "etcdctl --cacert /etc/etcd/pki/ca.crt --cert /etc/etcd/pki/server.crt " +
		"--key /etc/etcd/pki/server.key"
	stays := " that stays"
	if s.diff.mostMembers() == 1 {
		stays = ""
	}
	for _, m := range s.diff.new.Members() {
		if m.Role == etcdRole {
			return "run on a machine with a member" + stays + ": " +
				"ctr -n k8s.io tasks exec --exec-id etcdctl CONTAINER " + program +
				"  # CONTAINER: ctr -n k8s.io containers ls"
		}
	}
	return "that of a member" + stays + ", on NAME: kubectl -n kube-system exec etcd-NAME -- " +
		program
}
