package assembly

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// restore is how etcd comes back from a snapshot: one member has it, and the others join that one. Members that each restored a
// snapshot of their own would be one cluster with different data, and etcd would not notice.
type restore struct {
	machine  string // who has the snapshot; empty if nothing is to be restored
	snapshot string // its path on that machine
}

// Restore makes r's documents bring etcd back from a snapshot, which is named [MACHINE:]PATH: the machine that has it, by default the
// first member, and the file's path there. The bundle's Restore gave etcd its new identity before.
func (r *Cluster) Restore(snapshot string) error {
	machine, file, named := strings.Cut(snapshot, ":")
	if !named {
		machine, file = "", snapshot
	}
	switch {
	case len(r.Plan.EtcdMembers) == 0:
		return fmt.Errorf("the cluster's etcd is external: restore it there")
	case !snapshotPath.MatchString(file) || path.Clean(file) != file:
		return fmt.Errorf("%q is not the path of a file on a machine; write an absolute one of letters, digits, '.', '_', '-' and '/', such as cp-1:/var/backups/etcd/NAME.db", file)
	case path.Dir(file) == "/":
		return fmt.Errorf("%s lies in the root folder; a folder of its own is shown to the program that restores it", file)
	}
	for _, i := range r.Plan.EtcdMembers {
		if m := &r.Plan.Machines[i]; machine == "" || m.Name == machine {
			r.restore = restore{machine: m.Name, snapshot: file}
			return nil
		}
	}
	return fmt.Errorf("%q carries no member of etcd; name a machine that does, such as %s:%s", machine, r.Plan.Machines[r.Plan.EtcdMembers[0]].Name, file)
}

// snapshotPath is what goes into the options of containerd's client as it is.
var snapshotPath = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)

// hasSnapshot says that this machine has the snapshot.
func (t *tree) hasSnapshot() bool { return t.m.EtcdMember && t.m.Name == t.restore.machine }

// etcdDeadline is until when this member may begin a cluster: with what it restores, or with nothing if etcd was never restored.
func (t *tree) etcdDeadline() string {
	if t.Public.EtcdRestored() && !t.hasSnapshot() {
		return "0"
	}
	return epoch(t.Public.FormationDeadline)
}

// etcdSteps are the steps before the kubelet that concern etcd.
func (t *tree) etcdSteps() []string {
	switch {
	case !t.m.EtcdMember:
		return nil
	case t.hasSnapshot():
		return []string{"restore", "etcd"}
	case t.Public.EtcdRestored():
		return []string{"others", "etcd"}
	}
	return []string{"etcd"}
}
