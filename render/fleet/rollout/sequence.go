package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// sequencer puts the steps into an order in which the cluster keeps running: etcd before the API
// servers that use it, control planes before workers, one member at a time, additions before
// removals.
type sequencer struct {
	diff      *transition
	decisions []*decision
	all       []*decision // as if every machine ran the older state
	share     func(total int) int
	options   Options
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

func (s *sequencer) steps() []Step {
	s.snapshotBefore()
	s.wait(etcdRole, controlPlane)
	// The policy of the API server refuses what machines with another pod network enter.
	const network = "pod network"
	first := s.diff.old.Properties.Value(network) != s.diff.new.Properties.Value(network)
	if first {
		s.apply(true, true)
	}
	for _, role := range []string{etcdRole, controlPlane} {
		s.members(Add, role)
		s.members(Replace, role)
		s.applyDocuments(Restart, role)
	}
	// kube-proxy of every worker reads its settings from the API. Settings with the worker's own
	// balancer need workers that have one, and some of these may need a token.
	last := !first && s.addsBalancer()
	if !first {
		s.apply(!last, true)
	}
	// No kubelet may be of a newer minor than an API server, also than one that goes.
	upgrade := minor(s.diff.old.Version) != minor(s.diff.new.Version)
	if upgrade {
		s.members(Remove, controlPlane)
	}
	s.wait(worker)
	s.workers(Add)
	s.workers(Replace)
	s.applyDocuments(Restart, worker)
	if last {
		s.apply(true, false)
	}
	s.workers(Remove)
	if !upgrade {
		s.members(Remove, controlPlane)
	}
	s.members(Remove, etcdRole)
	s.applyDocuments(Live, etcdRole, controlPlane, worker)
	s.changeNodes()
	s.deleteObjects()
	for i := range s.list {
		step := &s.list[i]
		if slices.ContainsFunc(slices.Concat(step.How, step.Wait), func(l Line) bool {
			return l.Other
		}) {
			step.How = append(says("OTHER is any other member of etcd than NAME"), step.How...)
		}
	}
	return s.list
}

// addsBalancer reports whether workers get a balancer of their own that they did not have.
func (s *sequencer) addsBalancer() bool {
	balancer := change.Key{Kind: "file", ID: "/etc/kubernetes/haproxy.cfg"}
	return slices.ContainsFunc(s.all, func(f *decision) bool {
		return f.What() == change.Changed && f.Old.Entries.Find(balancer) == nil &&
			f.New.Entries.Find(balancer) != nil
	})
}

// of returns the machines with that verdict and role. Those come first that are no loss: their
// Nodes are not Ready, or they run what nobody knows.
func (s *sequencer) of(verdict, role string) (out []*decision) {
	for _, f := range s.decisions {
		if f.verdict == verdict && f.Machine().Role == role {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *decision) int {
		return cmp.Compare(a.worth, b.worth)
	})
	return out
}

// wait adds the step that waits for machines of these roles which run their new documents.
func (s *sequencer) wait(roles ...string) {
	step := Step{Do: Wait}
	var how []string
	for _, role := range roles {
		list := s.of(Wait, role)
		if len(list) == 0 {
			continue
		}
		machines, pools := names(list)
		step.Machines = append(step.Machines, machines...)
		step.Pools = append(step.Pools, pools...)
		names := machines
		for _, f := range list {
			how = append(how, f.why...)
			step.Nodes = append(step.Nodes, f.nodes...)
			names = append(names, f.nodes...)
		}
		name := placeholder(names)
		step.Wait = append(step.Wait, ready(name, list[0].Machine()))
		if list[0].Machine().Member() && s.diff.mostMembers() > 1 {
			step.Wait = append(step.Wait, s.voting(name, list))
		}
	}
	if len(step.Wait) > 0 {
		step.How = says(append(slices.Compact(how), "if it does not come: sh /etc/kiln/boot "+
			"report, on it; or give it its document and an empty disk")...)
		s.list = append(s.list, step)
	}
}

func names(list []*decision) (machines, pools []string) {
	for _, f := range list {
		f.Machine().AddTo(&machines, &pools)
	}
	return machines, pools
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
	document := s.folder() + "/" + name
	member := slices.ContainsFunc(list, func(f *decision) bool { return f.Machine().Member() })
	several := s.diff.mostMembers() > 1
	if verdict == Replace && member && !several {
		s.replaceOnlyMember(list[0])
		return
	}
	how := func(lines ...Line) { step.How = append(step.How, lines...) }
	how(seeGone(list)...)
	if (verdict != Add || emptyDisk(list) != "") && member && several {
		how(s.health(list))
	}
	if verdict != Add && role == controlPlane {
		how(drain(name))
	}
	// One of two members has no majority while the other one is gone, so it could not take it back.
	pair := s.diff.mostMembers() == 2
	if member && (verdict == Remove || verdict == Replace && pair) {
		remove := s.etcdctl(list, "member").as(Unmember)
		remove.Text += " remove ID"
		how(s.etcdctl(list, "member list").as(Say).with("  # the ID of "+name), remove)
	}
	switch verdict {
	case Remove:
		how(Line{Act: Destroy, Text: "power it off, and destroy its disk or its document: with " +
			"both it would join again"})
		if role == controlPlane {
			how(forget(name).with(", and take it out of the endpoint's load balancer if there " +
				"is one"))
		}
	case Add:
		how(boot("document", document, emptyDisk(list)+s.image(list)).of(name))
	case Replace:
		how(boot("new document", document, " and an empty disk"+s.image(list)).of(name))
	}
	if verdict != Remove {
		if role == controlPlane {
			step.Wait = append(step.Wait, ready(name, list[0].Machine()))
		}
		if role == controlPlane && verdict == Replace {
			step.Then = append(step.Then, uncordon(name))
		}
		if member && (several || verdict == Add) {
			how(says("its hook brings the member into etcd; there is nothing to do")...)
			step.Wait = append(step.Wait, s.voting(name, list))
		}
	}
	if verdict == Add {
		for _, f := range list {
			for _, line := range commands(Label(f.New, f.New.Name)...) {
				line.For = f.New.Name
				step.Then = append(step.Then, line)
			}
		}
	}
	s.list = append(s.list, step)
}

// workers adds the steps that add, replace or remove workers and machines of pools, a share at a
// time.
func (s *sequencer) workers(verdict string) {
	list := s.of(verdict, worker)
	machines, _ := names(list)
	how := func(name, document string) (how, wait []Line) {
		switch verdict {
		case Remove:
			return []Line{drain(name), {Act: Destroy,
				Text: "power it off, and destroy its disk or its document"}, forget(name)}, nil
		case Add:
			how = append(seeGone(list),
				boot("document", document, emptyDisk(list)+s.image(list)).of(name))
		default:
			how = []Line{drain(name),
				boot("new document", document, " and an empty disk"+s.image(list)).of(name)}
		}
		return how, []Line{ready(name, list[0].Machine())}
	}
	if len(machines) > 0 {
		step := Step{Do: verdict, Machines: machines}
		name := placeholder(machines)
		step.How, step.Wait = how(name, s.folder()+"/"+name)
		if verdict == Replace {
			running := slices.DeleteFunc(slices.Clone(s.diff.old.Machines),
				func(m *change.Machine) bool { return m.Role != worker || m.Pool })
			step.AtATime = s.share(len(running))
			step.Batch = step.AtATime
			step.Then = []Line{uncordon(name)}
		}
		s.list = append(s.list, step)
	}
	for _, f := range list {
		if !f.Machine().Pool {
			continue
		}
		step := Step{Do: verdict, Pools: []string{f.Machine().Name}, Nodes: f.nodes}
		step.How, step.Wait = how("NAME", s.folder()+"/pools/"+f.Machine().Name)
		first := "of its machines"
		if verdict == Replace {
			step.Batch = s.share(len(step.Nodes))
			first += ", as many at a time as --max-unavailable says"
			step.Then = []Line{uncordon("NAME")}
		}
		if len(step.Nodes) == 0 { // nobody knows which ones
			step.How, step.Wait, step.Then = byHand(step.How), byHand(step.Wait), byHand(step.Then)
		}
		if len(step.Nodes) > 0 || verdict == Replace {
			which := strings.TrimSuffix(first+": "+change.Names(step.Nodes, nil), " ")
			step.How = append(says(which), step.How...)
		}
		s.list = append(s.list, step)
	}
}

// image says which kubelet the machines' images must have, if the version changes: documents do not
// contain a kubelet. Machines that fetch their programs need none in their image.
func (s *sequencer) image(list []*decision) string {
	of := ""
	if s.options.Now != "" {
		of = " (the document of " + s.options.Now + ")"
	}
	for _, f := range list {
		if f.New.Entries.Find(change.Key{Kind: "file", ID: plan.ArtifactList}) != nil {
			continue
		}
		if f.Old == nil || f.Old.Properties.Value("kubelet") != f.New.Properties.Value("kubelet") {
			return ", an image with kubelet " + f.New.Properties.Value("kubelet") + of
		}
	}
	return of
}

// placeholder returns the name for commands: the only one, or NAME.
func placeholder(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "NAME"
}

// boot returns the line that gives a machine the document in a folder. Both whose and ending are
// words of the text.
func boot(whose, document, ending string) Line {
	return Line{Act: Boot, Document: document,
		Text: "give it its " + whose + " " + document + ending + ", and power it on"}
}

// health returns the command that says whether the members of etcd are healthy before a machine
// goes, and which of them must be.
func (s *sequencer) health(list []*decision) Line {
	var down, at []string
	for _, f := range list {
		if (f.down || f.again) && f.Machine().Member() {
			down = append(down, f.Machine().Name)
			at = append(at, f.Machine().Addresses()...)
		}
	}
	which := "all of them, before it goes"
	if len(down) > 0 {
		which = "all but " + strings.Join(down, ", ") + ", down already: begin with it"
	}
	line := s.etcdctl(list, "endpoint health --cluster").as(Healthy).with("  # " + which)
	line.Down = at
	return line
}

// seeGone returns the line that comes before machines that have no Node, and were there before, get
// an empty disk.
func seeGone(list []*decision) (lines []Line) {
	var names []string
	for _, f := range list {
		if f.again {
			names = append(names, f.New.Name)
		}
	}
	if len(names) > 0 {
		lines = says("first see that nothing runs as " + change.Spans(names) +
			": a list of only some Nodes leaves out machines that run")
	}
	return lines
}

// emptyDisk adds an empty disk to the document of such machines.
func emptyDisk(list []*decision) string {
	if len(seeGone(list)) > 0 {
		return " and an empty disk"
	}
	return ""
}

// voting returns what to wait for until a member of etcd, of the machines of a step, has its vote.
func (s *sequencer) voting(name string, list []*decision) Line {
	return s.etcdctl(list, "member list").as(Voting).with(
		" has " + name + " as started, and no learner").of(name)
}

// ready returns what to wait for until the Node is ready.
func ready(name string, m *change.Machine) Line {
	return Line{Act: Ready, Named: name == "NAME",
		Text: "kubectl get node " + name + " says Ready, " + m.Properties.Value("kubelet")}
}

// etcdctl returns a command of the program beside the first member of etcd that stays while the
// machines of a step come or go. If no member stays, the command has OTHER for one.
func (s *sequencer) etcdctl(list []*decision, words string) Line {
	for _, f := range s.decisions {
		if f.New != nil && f.New.Member() && !f.down && !f.again && !slices.Contains(list, f) {
			return etcdctl(f.New.Name, f.New.Role, words)
		}
	}
	return etcdctl("OTHER", list[0].Machine().Role, words)
}

// etcdctl returns a command of the program beside a member of etcd, with that member's certificate.
func etcdctl(name, role, words string) Line {
	words = rotation.Etcdctl + " " + words
	if role == etcdRole {
		const exec = "ctr -n k8s.io tasks exec --exec-id "
		return Line{
			Act: Run, On: name, Other: name == "OTHER",
			Text: "on " + name + ", with CONTAINER from ctr -n k8s.io containers ls | grep etcd: " +
				exec + "etcdctl CONTAINER " + words,
			Command: `for c in $(ctr -n k8s.io containers ls -q ` +
				`'labels."io.kubernetes.container.name"==etcd'); do ` +
				`ctr -n k8s.io tasks ls | grep -q "^$c .* RUNNING" || continue; ` +
				exec + `kiln-$$ "$c" ` + words + `; exit; done; ` +
				`echo "no container etcd runs here" >&2; exit 1`,
		}
	}
	line := commands("kubectl -n kube-system exec etcd-" + name + " -- " + words)[0]
	line.Other = name == "OTHER"
	return line
}
