// This file has the steps that change what runs: machines, by kiln apply, and what the API server
// holds, Nodes and other objects.

package rollout

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// applyDocuments adds the step in which kiln apply gives machines with that verdict, and one of
// these roles, their newer documents while they run; last those whose pods have to go first. The
// members of etcd among them that start anew need the others meanwhile.
func (s *sequencer) applyDocuments(verdict string, roles ...string) {
	for _, drains := range []bool{false, true} {
		s.applyDocumentsOf(verdict, drains, roles)
	}
}

func (s *sequencer) applyDocumentsOf(verdict string, drains bool, roles []string) {
	step := Step{Do: verdict}
	var list []*decision
	for _, role := range roles {
		for _, f := range s.of(verdict, role) {
			if f.live && f.drain == drains {
				list = append(list, f)
				step.Nodes = append(step.Nodes, f.nodes...)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	step.Machines, step.Pools = names(list)
	for _, command := range s.options.Keep {
		step.How = append(step.How,
			says("before you render: "+command+"  # remove it when the steps are done")...)
	}
	s.options.Keep = nil // once
	member := func(f *decision) bool { return f.Machine().Member() }
	if verdict == Restart && s.diff.mostMembers() > 1 && slices.ContainsFunc(list, member) {
		step.How = append(step.How, s.health(list))
	}
	if verdict == Restart && slices.ContainsFunc(list, newerEtcd) {
		step.How = append(step.How, says("there is no way back for its etcd once the newer minor "+
			"has the data: kiln apply keeps a snapshot on the machine")...)
	}
	if verdict == Restart && s.endsAPI(list) {
		step.How = append(step.How, says("meanwhile the API is away for some seconds")...)
	}
	if name := placeholder(step.Machines); drains {
		if len(step.Pools) > 0 {
			name = "NAME"
		}
		step.How = append(step.How, drain(name))
		step.Then = []Line{uncordon(name)}
	}
	since := " --since " + cmp.Or(strings.Join(s.options.Since, " --since "), "OLD")
	of := s.ofDocuments()
	inPlace := func(document, name, note string, nodes []string) {
		command := "kiln apply " + document + since
		step.How = append(step.How, Line{Act: InPlace, Document: document, Command: command,
			Text: command + " --ssh " + name + note, Nodes: nodes}.of(name))
	}
	if len(step.Machines) > 0 {
		name, each := placeholder(step.Machines), of
		if len(step.Machines) > 1 {
			each = strings.TrimSuffix("  # one machine after the other;"+
				strings.TrimPrefix(of, "  #"), ";")
			if verdict == Restart { // the title says it
				step.AtATime, each = 1, of
			}
		}
		inPlace(s.folder()+"/"+name, name, each, nil)
	}
	for _, f := range list {
		if m := f.Machine(); m.Pool && (s.diff.seen == nil || len(f.nodes) > 0) {
			inPlace(s.folder()+"/pools/"+m.Name, "NAME", "  # each machine of the pool", f.nodes)
		}
	}
	s.list = append(s.list, step)
}

// newerEtcd reports whether the machine's member of etcd gets another minor.
func newerEtcd(f *decision) bool {
	if f.What() != change.Changed {
		return false
	}
	old, _ := etcdVersion(f.Old)
	now, _ := etcdVersion(f.New)
	return old != now
}

// endsAPI reports whether the only API server of the cluster is among those that start again.
func (s *sequencer) endsAPI(list []*decision) bool {
	servers := 0
	for _, m := range s.diff.new.Machines {
		if m.Role == controlPlane {
			servers++
		}
	}
	return servers == 1 && slices.ContainsFunc(list, func(f *decision) bool {
		return slices.ContainsFunc(f.restarts, func(line string) bool {
			what := strings.Fields(line)
			return slices.Contains(what, target.APIServer) || slices.Contains(what, target.Etcd)
		})
	})
}

// changeNodes adds what is done to Nodes: to their labels and taints, which they keep even if their
// machine is replaced, and to those that still take no pods. It follows applyDocuments, and goes on
// with its step if that is of the same machines.
func (s *sequencer) changeNodes() {
	changes, nodes := map[string][]*decision{}, map[string][]string{}
	var all []*decision
	for _, f := range s.all {
		if f.verdict == Remove {
			continue
		}
		wanted := f.kubectl
		if f.verdict == Add && s.isThere(f) {
			wanted = labelChanges(f.New) // its step may have ended before it set them
		}
		for _, c := range wanted {
			lacking, holds := s.lacking(f, c)
			if !holds {
				nodes[c.Command+" "+f.Machine().Name] = lacking
				changes[c.Command] = append(changes[c.Command], f)
				all = append(all, f)
			}
		}
	}
	all = slices.Compact(all)
	cordoned := s.cordoned()
	if len(all) == 0 && len(cordoned) == 0 {
		return
	}
	step := Step{Do: Live}
	step.Machines, step.Pools = names(all)
	for _, command := range slices.Sorted(maps.Keys(changes)) {
		machines, pools := names(changes[command])
		if len(machines) > 0 {
			step.How = append(step.How, commands(strings.Replace(command, "NAME",
				strings.Join(machines, " "), 1))...)
		}
		for _, pool := range pools {
			name := "NAME"
			if s.diff.seen != nil {
				name = strings.Join(nodes[command+" "+pool], " ")
			}
			if name != "" { // else it has no Nodes
				step.How = append(step.How, commands(strings.Replace(command, "NAME", name, 1)+
					"  # each machine of pool "+pool)...)
			}
		}
	}
	if len(cordoned) > 0 {
		step.How = append(step.How, uncordon(cordoned...).with(
			"  # without those that are meant to take no pods"))
	}
	if len(step.How) == 0 {
		return
	}
	if n := len(s.list) - 1; n >= 0 && s.list[n].Do == Live &&
		slices.Equal(s.list[n].Machines, step.Machines) &&
		slices.Equal(s.list[n].Pools, step.Pools) {
		s.list[n].How = append(s.list[n].How, step.How...)
		return
	}
	s.list = append(s.list, step)
}

// cordoned returns the Nodes of machines that run their newer document and take no pods: drained
// before they were replaced, as a rule.
func (s *sequencer) cordoned() (names []string) {
	for _, f := range s.all {
		if s.diff.seen != nil && f.New != nil {
			names = append(names, s.diff.seen.Cordoned(f.Machine())...)
		}
	}
	return names
}

// apply adds the step for API objects, which the API server keeps unchanged otherwise: for those of
// bootstrap tokens, for the others, or for both. It ends when their pods are those of the newer
// state: the step after it may take a machine away.
func (s *sequencer) apply(withObjects, withTokens bool) {
	step := Step{Do: Apply}
	var objects []change.Object
	var tokens []string
	sure := false
	if withObjects {
		objects, sure = s.objectsLeft()
	}
	if withTokens {
		tokens = s.tokensLeft()
	}
	if len(objects)+len(tokens) == 0 {
		return
	}
	if s.diff.seen != nil && (len(objects) == 0 || !sure) {
		step.How, step.Unsure = append(step.How, says(ifNotDone)...), true
	}
	if state, known := s.marker(); len(objects) > 0 && known && state == nil {
		step.How = append(step.How, says(
			"all of them, because those in the cluster are of no state that was named; but the "+
				"rights of admin.conf only if they change: somebody may have taken them away "+
				"(docs/leaked.md)")...)
	}
	restarts, restarted := s.restarted(objects)
	step.How = slices.Concat(step.How, commands(s.applications(objects, restarts)...),
		byHand(commands(tokens...)))
	step.Wait = s.rollouts(slices.Concat(objects, restarted))
	s.list = append(s.list, step)
}

// readers are the DaemonSets whose programs read their settings, a ConfigMap, when they start.
var readers = []struct{ settings, file, namespace, name string }{
	{"configmap-kube-flannel_kube-flannel-cfg.yaml", "daemonset-kube-flannel_kube-flannel-ds.yaml",
		"kube-flannel", "kube-flannel-ds"},
	{"configmap-kube-proxy.yaml", "daemonset-kube-proxy.yaml", "kube-system", "kube-proxy"},
}

// restarted returns the DaemonSets whose settings are among the objects, and the commands that
// start their pods anew, each with a note.
func (s *sequencer) restarted(objects []change.Object) (how [][2]string, out []change.Object) {
	for _, r := range readers {
		if !slices.ContainsFunc(objects, func(o change.Object) bool {
			return o.Name() == r.settings
		}) {
			continue
		}
		for _, o := range s.diff.new.Objects() {
			if o.Name() == r.file {
				how = append(how, [2]string{"kubectl -n " + r.namespace +
					" rollout restart daemonset " + r.name,
					"  # it reads its settings when it starts"})
				out = append(out, o)
			}
		}
	}
	return how, out
}

// objectsLeft returns the objects that are left to apply, without bootstrap tokens, and whether it
// is sure of that: the marker in the API says which ones were applied. Without it, those that are
// new or changed are left until a worker that comes after them is there.
func (s *sequencer) objectsLeft() (left []change.Object, sure bool) {
	now := s.diff.new.Objects()
	base := []*change.Cluster{s.diff.before}
	switch state, known := s.marker(); {
	case known && state == s.diff.new:
		left = s.diff.new.Resealed(s.diff.before)
		return left, len(left) == 0
	case known && state == nil:
		sure, base = true, nil
		left = slices.Collect(maps.Values(now))
	case known:
		sure, base = true, []*change.Cluster{state}
	case s.comesAfter():
		return nil, false
	case s.diff.seen != nil:
		// A hop begins when all control planes run the hop before. The objects of that hop may not
		// have been applied.
		for _, c := range s.diff.seen.Earlier {
			if minor(c.Version) != minor(s.diff.new.Version) {
				base = append(base, c)
			}
		}
	}
	for _, c := range base {
		was := c.Objects()
		for id, o := range now {
			if before, there := was[id]; !there || !o.Equal(before) {
				left = append(left, o)
			}
		}
	}
	rights, had := s.diff.before.Objects()[adminRights]
	left = slices.DeleteFunc(left, func(o change.Object) bool {
		return o.IsToken() ||
			base == nil && had && o.Identity() == adminRights && o.Equal(rights)
	})
	slices.SortFunc(left, change.Object.Before)
	return slices.CompactFunc(left, func(a, b change.Object) bool { return a.ID == b.ID }), sure
}

// adminRights is the identity of the binding that gives every admin.conf its rights. People delete
// it when one has leaked.
const adminRights = "rbac.authorization.k8s.io/clusterrolebindings/" + pki.AdminGroup

// marker returns the state whose API objects were applied, as the marker says: the newer one, an
// earlier one, or nil if it is none of those that were named. It reports false if nothing is known.
func (s *sequencer) marker() (state *change.Cluster, known bool) {
	if s.diff.seen == nil || s.diff.seen.Objects == "" || running.Objects(s.diff.new) == "" {
		return nil, false
	}
	for _, c := range slices.Concat([]*change.Cluster{s.diff.new}, s.earlier()) {
		if running.Objects(c) == s.diff.seen.Objects {
			return c, true
		}
	}
	return nil, true
}

// applications returns the commands that apply objects of the newer state. They come from the
// document of a control plane, in the order in which its hook would apply them.
func (s *sequencer) applications(objects []change.Object, restarts [][2]string) (how []string) {
	first := slices.IndexFunc(s.diff.new.Machines, func(m *change.Machine) bool {
		return m.Role == controlPlane
	})
	if len(objects) == 0 || first < 0 {
		return nil
	}
	folder := s.options.Scratch + "objects"
	how = []string{"kiln unpack " + s.folder() + "/" + s.diff.new.Machines[first].Name +
		" --out " + wording.ShellWord(folder) + " --show-secrets"}
	slices.SortFunc(objects, change.Object.Before)
	for i, o := range objects {
		how[len(how)-1] += " &&"
		if i == len(objects)-1 { // the marker: it says that all before it is done
			for _, r := range restarts {
				how = append(how, r[0]+" &&"+r[1])
			}
		}
		how = append(how, Application(o, folder))
	}
	how[0] += s.ofDocuments()
	return append(how, "rm -r "+wording.ShellWord(folder))
}

// rollouts returns the commands that wait for the pods of objects. Those of an object that no
// earlier state has do nothing yet that a later step could take away.
func (s *sequencer) rollouts(objects []change.Object) []Line {
	var wait []string
	for _, c := range s.earlier() {
		was := c.Objects()
		for _, o := range objects {
			if _, there := was[o.Identity()]; !there {
				continue
			}
			if command := Rollout(o); command != "" {
				wait = append(wait, command+"  # go on if a machine is down or comes later")
			}
		}
	}
	slices.Sort(wait)
	lines := commands(slices.Compact(wait)...)
	for i := range lines {
		lines[i].Act = RolledOut
	}
	return lines
}

// earlier returns the states before the newer one, as far as they are known.
func (s *sequencer) earlier() (states []*change.Cluster) {
	if s.diff.seen != nil {
		states = slices.Clone(s.diff.seen.Earlier)
	}
	return append(states, s.diff.before)
}

// folder returns the folder of the newer state's documents: the one that was named, or nodes. If
// another hop follows, nodes has those of another state, and a person has to name the folder.
func (s *sequencer) folder() string {
	if s.options.follows {
		return cmp.Or(s.options.Documents, "NODES")
	}
	return cmp.Or(s.options.Documents, "nodes")
}

// ofDocuments says whose documents are in the folder, if several states were named.
func (s *sequencer) ofDocuments() string {
	if s.options.Now == "" {
		return ""
	}
	return "  # " + s.folder() + ": the documents of " + s.options.Now
}

// ifNotDone begins a step of which nothing says whether it was done.
const ifNotDone = "if it is not done yet (it may be done again):"

// deleteObjects adds the step that deletes API objects which are no longer rendered. It comes last,
// when what takes their place may run.
func (s *sequencer) deleteObjects() {
	how := deletions(s.earlier(), s.diff.new)
	if len(how) == 0 {
		return
	}
	look := "first see that what takes their place works"
	if s.diff.seen != nil {
		look += ", and that nobody else has given an object one of these names since"
	}
	s.list = append(s.list, Step{Do: Delete, Unsure: true, How: append(says(look), how...)})
}

// tokensLeft returns the commands that apply the Secrets of new bootstrap tokens of pools, for
// which nobody unpacks the document of a control plane. The marker says nothing of them. The API
// server has a previous token, or its Secret was deleted on purpose.
func (s *sequencer) tokensLeft() (how []string) {
	if state, known := s.marker(); s.comesAfter() && (!known || state == s.diff.new) {
		return nil
	}
	now, left, end := s.diff.new.Objects(), map[string]bool{}, tokenEnds(s.diff.new)
	for _, c := range s.earlier() {
		was, ended := c.Objects(), tokenEnds(c)
		for id, o := range now {
			before, there := was[id]
			same := there && o.Equal(before) && end[o.Name()] == ended[o.Name()]
			if o.IsToken() && !isPrevious(o) && !same {
				left[o.Name()] = true
			}
		}
	}
	for _, f := range s.all {
		m := f.Machine()
		if !m.Pool || !left[poolToken+m.Name+".yaml"] {
			continue
		}
		file := m.Name + "-token.yaml"
		how = append(how, "kiln token manifest "+m.Name+" --out "+file+
			"  # the bootstrap token of pool "+m.Name,
			"kubectl apply --server-side --force-conflicts -f "+file, "rm "+file)
	}
	return how
}

// tokenEnds returns the ends of bootstrap tokens, which are in their Secrets, by the names of the
// Secrets' files.
func tokenEnds(c *change.Cluster) map[string]string {
	ends := map[string]string{}
	for _, m := range c.Machines {
		if m.Pool {
			ends[poolToken+m.Name+".yaml"] = m.Properties.Value("until")
		}
	}
	return ends
}

// lacking returns the Nodes of a pool that lack what a change would give them, as far as they are
// known, and whether all Nodes of the machine or pool have it.
func (s *sequencer) lacking(f *decision, c Change) (names []string, holds bool) {
	if s.diff.seen == nil {
		return nil, false
	}
	has := c.Holds
	if has == nil { // nobody can tell
		has = func(*running.Node) bool { return false }
	}
	names, found := s.diff.seen.Lacking(f.Machine(), has)
	return names, found && len(names) == 0
}

// comesAfter reports whether a worker that changes is there. It comes after the API objects of the
// newer state, so they were applied. With a balancer of the workers' own they come last.
func (s *sequencer) comesAfter() bool {
	if s.diff.seen == nil || s.addsBalancer() {
		return false
	}
	return slices.ContainsFunc(s.all, func(f *decision) bool {
		m := f.Machine()
		return m.Role == worker && (f.verdict == Replace || f.verdict == Add) && s.isThere(f) &&
			(!m.Pool || s.diff.seen.Has(m))
	})
}

// isThere reports whether a machine runs its newer document, or comes with it.
func (s *sequencer) isThere(f *decision) bool {
	if s.diff.seen == nil {
		return false
	}
	seen := s.diff.seen.Of(f.Machine())
	return seen != nil && (seen.Standing == running.Wanted || seen.Standing == running.Coming)
}
