package rollout

import (
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/twin/change"
)

// exceptions replace the advice of a refusal for changes to which it does not apply.
var exceptions = []struct {
	name    string // of the refusal
	applies func(d *transition) bool
	instead string
}{
	{"quorum", movesMembers,
		"make a new cluster, or restore a snapshot: members do not move between control planes " +
			"and etcd machines while they run (docs/etcd.md)"},
	{"quorum", func(d *transition) bool { return len(d.new.Members()) == 0 },
		"make a new cluster with the external etcd: the data stays in the members that go"},
	{"vip", func(d *transition) bool {
		_, err := netip.ParseAddr(hostOf(d.old.Properties.Value("endpoint")))
		return err != nil
	},
		"let the endpoint's name lead to the control planes' own addresses while they are " +
			"replaced, and plan with --force vip"},
	{"version", func(d *transition) bool { return goesBack(d) != "" },
		"render the newer minor again, and go on with its plan: API servers of the older one may " +
			"be unable to read what it wrote; only the snapshot from before leads back, for all " +
			"machines at once (docs/changes.md)"},
	{"renamed", func(d *transition) bool { return lostQuorum(d, nil) != "" },
		"keep the name of one member of etcd; a new member needs an address of its own"},
}

// insteadOf returns the advice for a change that the rule refuses.
func insteadOf(r *refusal, d *transition) string {
	for _, e := range exceptions {
		if e.name == r.name && e.applies(d) {
			return e.instead
		}
	}
	return r.instead
}

// movesMembers reports whether only one of the two states has members of etcd on etcd machines: so
// they move there from control planes, or back.
func movesMembers(d *transition) bool {
	onMachine := func(m *change.Machine) bool { return m.Role == etcdRole }
	old, new := d.old.Members(), d.new.Members()
	return len(old) > 0 && len(new) > 0 &&
		slices.ContainsFunc(old, onMachine) != slices.ContainsFunc(new, onMachine)
}

// mostMembers returns the number of etcd's members when machines are replaced: new members have
// joined by then, and none has been removed.
func (d *transition) mostMembers() int {
	names := map[string]bool{}
	for _, m := range append(d.old.Members(), d.new.Members()...) {
		names[m.Name] = true
	}
	return len(names)
}

// snapshotBefore adds a snapshot of etcd, also of an external one, before an upgrade of Kubernetes
// by a minor: API servers of the newer one write what those of the older one cannot read, so that
// nothing else leads back. It comes before the first control plane; a plan that begins with what
// runs has it until one is there.
func (s *sequencer) snapshotBefore() {
	upgrade, members := minor(s.diff.old.Version) < minor(s.diff.new.Version), s.diff.mostMembers()
	if !upgrade {
		return
	}
	var first *decision
	for _, f := range s.decisions {
		if f.New == nil || f.New.Role == worker {
			continue
		}
		// The only member has a snapshot of its own when it is replaced.
		goes := f.verdict == Restart || f.verdict == Replace && members != 1
		if s.diff.seen != nil && f.Old != nil && !goes && f.New.Role == controlPlane {
			return // it runs the newer version
		}
		if (first == nil || first.worth < f.worth) && f.What() == change.Changed &&
			(f.Old.Member() || members == 0) && goes {
			first = f // one that is not Ready could not take it
		}
	}
	if first == nil {
		return
	}
	if members == 0 {
		s.list = append(s.list, Step{Do: Snapshot, Person: true, How: says(
			"of the external etcd, where it runs: nothing else leads back to " +
				s.diff.old.Version)})
		return
	}
	name := first.New.Name
	file := "/var/lib/etcd/before-" + s.diff.new.Version + ".db"
	step := Step{
		Do: Snapshot, Machines: []string{name},
		How: []Line{saveTo(file, name, first.New.Role),
			{Act: Copy, On: name, Path: file, Text: copyOff}},
		Wait: says(sameSum),
		Then: []Line{{Act: Run, On: name, Command: "rm " + file, Text: "remove it there"}},
	}
	if s.diff.seen != nil {
		step.How, step.Unsure = append(says(ifNotDone), step.How...), true
	}
	s.list = append(s.list, step)
}

// saveTo returns the command with which a member of etcd writes its data to a file.
func saveTo(file, name, role string) Line {
	return etcdctl(name, role, "snapshot save "+file).with("  # a file of the machine")
}

// copyOff is done with the file of a snapshot.
const copyOff = "copy this file off the machine"

// sameSum is what the copy of a snapshot waits for.
const sameSum = "sha256sum of the copy is that of the file"

// leading is what to wait for until controllers work after a restore. The leases in the snapshot
// are those of processes that are gone, and last fifteen seconds more. Nobody updates a Service
// until then, so that no other machine may be drained.
const leading = "kubectl -n kube-system get lease kube-controller-manager kube-scheduler " +
	"-o jsonpath='{..renewTime}' says times after it was powered on"

// replaceOnlyMember adds the steps that replace the machine with the only member of etcd. No other
// member has its data, so a snapshot leaves the machine before, and comes back to the new one.
func (s *sequencer) replaceOnlyMember(f *decision) {
	name, where := f.New.Name, "/var/backups/etcd/"+f.New.Name+".db"
	snapshot := Step{Do: Snapshot, Machines: []string{name}, Person: true}
	replace := Step{Do: Replace, Machines: []string{name}, Person: true}
	render := "render its new document with --restore " + name + ":" + where
	restore := Step{Do: Restore, Machines: []string{name}, Person: true, How: says(
		"copy the snapshot to it under another name, then rename it to " + where +
			": its hook waits for this file",
	), Then: says("kiln render without --restore, and keep these documents")}
	if f.New.Role == controlPlane {
		snapshot.How = append(snapshot.How, drain(name))
		restore.Wait = append(restore.Wait, ready(name, f.New))
		restore.Wait = append(restore.Wait, says(leading)...)
		restore.Then = append(restore.Then, uncordon(name))
		// Its Node says that it runs this document, which is in neither of the two states.
		replace.How = says(render+" --review restored",
			"it runs this state then: go on with kiln plan restored A B --nodes FILE")
	} else {
		replace.How = says(render)
	}
	replace.How = append(replace.How, says("give it this document, "+s.folder()+"/"+name+
		", and an empty disk"+s.image([]*decision{f})+", and power it on")...)
	snapshot.How = append(snapshot.How, saveTo("/var/lib/etcd/"+name+".db", name, f.New.Role))
	snapshot.How = append(snapshot.How, says(copyOff)...)
	snapshot.Wait = says(sameSum)
	snapshot.Then = says("power it off: what is written later is lost")
	restore.Wait = append(restore.Wait,
		etcdctl(name, f.New.Role, "endpoint health").with(" says healthy"))
	s.list = append(s.list, snapshot, replace, restore)
}
