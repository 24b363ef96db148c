package assembly

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/plan"
)

// Restore makes the documents of r bring etcd back from a snapshot. snapshot is [MACHINE:]PATH: the
// machine that has the file, by default the first member, and the file's path there. The bundle's
// own Restore must have given etcd its new identity before. Restore fails if etcd is external, if
// MACHINE is not a member, and if PATH is relative, holds other characters than letters, digits,
// '.', '_', '-' and '/', or lies in the root folder.
func (r *Cluster) Restore(snapshot string) error {
	machine, file, named := strings.Cut(snapshot, ":")
	if !named {
		machine, file = "", snapshot
	}
	switch {
	case len(r.Plan.EtcdMembers) == 0:
		return fmt.Errorf("the cluster's etcd is external: restore it there")
	case !snapshotPath.MatchString(file) || path.Clean(file) != file:
		return fmt.Errorf("%q is not the path of a file on a machine; write an absolute one of "+
			"letters, digits, '.', '_', '-' and '/', such as cp-1:/var/backups/etcd/NAME.db", file)
	case path.Dir(file) == "/":
		return fmt.Errorf("%s lies in the root folder; "+
			"a folder of its own is shown to the program that restores it", file)
	}
	for _, i := range r.Plan.EtcdMembers {
		if m := &r.Plan.Machines[i]; machine == "" || m.Name == machine {
			r.restore = restore{machine: m.Name, snapshot: file}
			return nil
		}
	}
	first := &r.Plan.Machines[r.Plan.EtcdMembers[0]]
	return fmt.Errorf("%q carries no member of etcd; name a machine that does, such as %s:%s",
		machine, first.Name, file)
}

// snapshotPath matches the paths that need no quoting in the options of containerd's client.
var snapshotPath = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)

// hasSnapshot reports whether this machine restores the snapshot.
func (t *tree) hasSnapshot() bool { return t.m.EtcdMember && t.m.Name == t.restore.machine }

// etcdSteps returns the hook's steps for etcd, which come before the kubelet.
func (t *tree) etcdSteps() []string {
	switch {
	case !t.m.EtcdMember:
		return nil
	case t.hasSnapshot():
		return []string{"restore", "etcd"}
	case t.Public.EtcdRuns():
		return []string{"others", "etcd"}
	}
	return []string{"etcd"}
}

// etcdPeers returns the machines of the other etcd members, or none if this machine is not a
// member.
func (t *tree) etcdPeers() (out []*plan.Machine) {
	if !t.m.EtcdMember {
		return nil
	}
	for _, i := range t.Plan.EtcdMembers {
		if peer := &t.Plan.Machines[i]; peer.Name != t.m.Name {
			out = append(out, peer)
		}
	}
	return out
}
