package change

// mostMembers returns the number of etcd's members when machines are replaced: new members have
// joined by then, and none has been removed.
func (d *Diff) mostMembers() int {
	names := map[string]bool{}
	for _, m := range append(d.old.members(), d.new.members()...) {
		names[m.Name] = true
	}
	return len(names)
}

// replaceOnlyMember adds the steps that replace the machine with the only member of etcd. No other
// member has its data, so a snapshot leaves the machine before, and comes back to the new one.
func (s *sequencer) replaceOnlyMember(f *decision) {
	name, where := f.new.Name, "/var/backups/etcd/"+f.new.Name+".db"
	snapshot := Step{Do: Snapshot, Machines: []string{name}}
	replace := Step{Do: Replace, Machines: []string{name}, How: []string{
		"render its new document with --restore " + name + ":" + where,
		"give it this document and an empty disk" + s.image([]*decision{f}) + ", and power it on",
	}}
	restore := Step{Do: Restore, Machines: []string{name}, How: []string{
		"copy the snapshot to it under another name, then rename it to " + where +
			": its hook waits for this file",
		"when it is back: kiln render without --restore, and keep these documents",
	}}
	if f.new.Role == controlPlane {
		snapshot.How = append(snapshot.How, drain(name))
		restore.Wait = append(restore.Wait, ready(name, f.new))
	}
	snapshot.How = append(snapshot.How,
		"etcdctl snapshot save /var/lib/etcd/"+name+".db  # a file of the machine",
		"copy this file off the machine, and power it off: what is written later is lost")
	snapshot.Wait = append(snapshot.Wait, "sha256sum of the copy is that of the file")
	restore.Wait = append(restore.Wait, "etcdctl endpoint health says healthy")
	s.list = append(s.list, snapshot, replace, restore)
}
