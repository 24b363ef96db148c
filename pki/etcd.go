package pki

import (
	"fmt"
	"maps"
	"time"
)

// EtcdCluster returns the identity of the etcd cluster: the cluster's UUID, and a number after it
// once etcd was restored from a snapshot. Members of different identities never talk to each other,
// so that the data on an old disk is not mixed with the restored data.
func (p *Public) EtcdCluster() string {
	if p.EtcdRestored() {
		return fmt.Sprintf("%s-%d", p.Cluster, p.Generation(etcdGeneration))
	}
	return p.Cluster
}

// EtcdRestored reports whether etcd was restored from a snapshot. From then on no member may begin
// a cluster with an empty disk.
func (p *Public) EtcdRestored() bool { return p.Generation(etcdGeneration) > 1 }

// EtcdRuns reports whether there is an etcd cluster that members with an empty disk have to join:
// it was restored from a snapshot, or ran before the cluster had a bundle. No member may begin one.
func (p *Public) EtcdRuns() bool { return p.EtcdRestored() || p.WasImported() }

// WasImported reports whether the cluster ran before it had a bundle. Its API objects are its own.
func (p *Public) WasImported() bool { return !p.Imported.At.IsZero() }

// HasRun reports whether the bundle shows that its cluster runs: it was imported, or something was
// renewed, rotated or restored. A token may be renewed before the first boot.
func (p *Public) HasRun() bool {
	return p.WasImported() || p.Restored != "" ||
		!p.Renewed.IsZero() || len(p.Renewals) > 0 || len(p.Rotations) > 0
}

// Restore gives etcd a new identity, to be restored from snapshot before deadline.
func (b *Bundle) Restore(snapshot string, deadline time.Time) {
	generations := maps.Clone(b.Generations)
	if generations == nil {
		generations = map[string]int{}
	}
	generations[etcdGeneration] = b.Generation(etcdGeneration) + 1
	b.Generations, b.Restored = generations, snapshot
	b.Extend(deadline)
}
