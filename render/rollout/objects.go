package rollout

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"kiln/render/change"
	"kiln/render/running"
	"kiln/render/shell"
)

// This file has the steps that change what runs: machines, by kiln apply, and what the API server
// holds, Nodes and other objects.

// applyDocuments adds the step in which kiln apply gives machines their newer documents while they
// run.
func (s *sequencer) applyDocuments() {
	step := Step{Do: Live}
	var list []*decision
	for _, f := range s.decisions {
		if f.live {
			list = append(list, f)
			step.Nodes = append(step.Nodes, f.nodes...)
		}
	}
	step.Machines, step.Pools = names(list)
	since := " --since " + cmp.Or(strings.Join(s.since, " --since "), "OLD")
	of := s.ofDocuments()
	if len(step.Machines) > 0 {
		name, each := placeholder(step.Machines), of
		if len(step.Machines) > 1 {
			each = strings.TrimSuffix("  # one machine after the other;"+
				strings.TrimPrefix(of, "  #"), ";")
		}
		step.How = append(step.How, "kiln apply nodes/"+name+since+" --ssh "+name+each)
	}
	for _, pool := range step.Pools {
		step.How = append(step.How, "kiln apply nodes/pools/"+pool+since+
			" --ssh NAME  # each machine of the pool")
	}
	if len(step.How) > 0 {
		s.list = append(s.list, step)
	}
}

// changeNodes adds what is done to Nodes: to their labels and taints, which they keep even if their
// machine is replaced, and to those that still take no pods. It follows applyDocuments, and goes on
// with its step if that is of the same machines.
func (s *sequencer) changeNodes() {
	commands := map[string][]*decision{}
	var all []*decision
	for _, f := range s.all {
		if f.verdict == Remove {
			continue
		}
		any := false
		for _, c := range f.kubectl {
			if s.holds(f, c) {
				continue
			}
			commands[c.command] = append(commands[c.command], f)
			any = true
		}
		if any {
			all = append(all, f)
		}
	}
	cordoned := s.cordoned()
	if len(all) == 0 && len(cordoned) == 0 {
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
	if len(cordoned) > 0 {
		step.How = append(step.How, uncordon(strings.Join(cordoned, " "))+
			"  # without those that are meant to take no pods")
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

// apply adds the step for API objects, which the API server keeps unchanged otherwise. It ends when
// their pods are those of the newer state: the step after it may take a machine away.
func (s *sequencer) apply() {
	step := Step{Do: Apply}
	if s.applied() {
		return
	}
	changed := s.changedObjects()
	tokens := s.tokens(changed)
	restarts := changed["configmap-kube-proxy.yaml"]
	var objects, moving []object
	for _, o := range objectsOf(s.diff.new) {
		if changed[o.name] {
			objects = append(objects, o)
		}
		if changed[o.name] || restarts && o.name == "daemonset-kube-proxy.yaml" {
			moving = append(moving, o)
		}
	}
	step.How = append(step.How, s.applications(objects)...)
	if restarts {
		step.How = append(step.How,
			"kubectl -n kube-system rollout restart daemonset kube-proxy"+
				"  # it reads its settings when it starts")
	}
	step.How = append(step.How, tokens...)
	step.Wait = s.rollouts(moving)
	if len(step.How) > 0 {
		if _, known := s.marker(); s.diff.seen != nil && !known {
			step.How = append([]string{ifNotDone}, step.How...)
		}
		s.list = append(s.list, step)
	}
}

// applications returns the commands that apply objects of the newer state. They come from the
// document of a control plane, in the order in which its hook would apply them.
func (s *sequencer) applications(objects []object) (how []string) {
	first := slices.IndexFunc(s.diff.new.Machines, func(m *change.Machine) bool {
		return m.Role == controlPlane
	})
	if len(objects) == 0 || first < 0 {
		return nil
	}
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(a.file, b.file) })
	const folder = "objects"
	how = append(how, "kiln unpack nodes/"+s.diff.new.Machines[first].Name+" --out "+folder+
		" --show-secrets"+s.ofDocuments())
	for _, o := range objects {
		how = append(how, "kubectl apply --server-side --force-conflicts -f "+
			shell.Word(folder+change.ObjectsDir+o.file))
	}
	return append(how, "rm -r "+folder)
}

// rollouts returns the commands that wait for the pods of objects. Those of an object that no
// earlier state has do nothing yet that a later step could take away.
func (s *sequencer) rollouts(objects []object) (wait []string) {
	for _, c := range s.earlier() {
		was := objectsOf(c)
		for _, o := range objects {
			command := o.rollout()
			if _, there := was[o.id()]; there && command != "" && !slices.Contains(wait, command) {
				wait = append(wait, command)
			}
		}
	}
	slices.Sort(wait)
	return wait
}

// earlier returns the states before the newer one, as far as they are known.
func (s *sequencer) earlier() (states []*change.Cluster) {
	if s.diff.seen != nil {
		states = slices.Clone(s.diff.seen.Earlier)
	}
	return append(states, s.diff.before)
}

// ofDocuments says whose documents nodes is, if several states were named.
func (s *sequencer) ofDocuments() string {
	if s.now == "" {
		return ""
	}
	return "  # nodes: the documents of " + s.now
}

// changedObjects returns the names of the objects that are new or changed.
func (s *sequencer) changedObjects() map[string]bool {
	changed := map[string]bool{}
	for _, f := range s.all {
		for _, c := range f.Changes {
			if name, ok := change.ObjectName(c.Name); ok && c.What != change.Removed {
				changed[name] = true
			}
		}
	}
	// A hop begins when all control planes run the hop before. The objects of that hop may not have
	// been applied, so they count as changed.
	if s.diff.seen != nil {
		now := objectsOf(s.diff.new)
		for _, earlier := range s.diff.seen.Earlier {
			if minor(earlier.Version) == minor(s.diff.new.Version) {
				continue
			}
			was := objectsOf(earlier)
			for id, o := range now {
				if before, there := was[id]; !there || !bytes.Equal(before.content, o.content) {
					changed[o.name] = true
				}
			}
		}
	}
	// The API server has a previous token, or its Secret was deleted on purpose.
	maps.DeleteFunc(changed, func(name string, _ bool) bool {
		return strings.HasPrefix(name, previousToken)
	})
	return changed
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
	s.list = append(s.list, Step{Do: Delete, How: append([]string{look}, how...)})
}

// tokens takes the Secrets of pools' bootstrap tokens out of the changed objects, and returns the
// commands that apply them: nobody has to unpack the document of a control plane for that.
func (s *sequencer) tokens(changed map[string]bool) (how []string) {
	for _, f := range s.all {
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

// holds reports whether the Nodes of a machine or pool have what a change would give them.
func (s *sequencer) holds(f *decision, c nodeChange) bool {
	return s.diff.seen != nil && c.holds != nil && s.diff.seen.All(f.Machine(), c.holds)
}

// marker reports whether the API objects of the newer state were applied, as the marker says, and
// whether it says anything.
func (s *sequencer) marker() (applied, known bool) {
	if s.diff.seen == nil || s.diff.seen.Objects == "" {
		return false, false
	}
	wanted := running.Objects(s.diff.new)
	return s.diff.seen.Objects == wanted, wanted != ""
}

// applied reports whether the API objects of the newer state were applied: the marker says so, or a
// worker that changes is there, and they come before. With a balancer of the workers' own they come
// last.
func (s *sequencer) applied() bool {
	if applied, known := s.marker(); known {
		return applied
	}
	if s.diff.seen == nil || s.addsBalancer() {
		return false
	}
	return slices.ContainsFunc(s.all, func(f *decision) bool {
		m := f.Machine()
		seen := s.diff.seen.Of(m)
		return m.Role == worker && (f.verdict == Replace || f.verdict == Add) && seen != nil &&
			(seen.Standing == running.Wanted || seen.Standing == running.Coming) &&
			(!m.Pool || s.diff.seen.All(m, func(*running.Node) bool { return true }))
	})
}
