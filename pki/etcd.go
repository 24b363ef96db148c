package pki

import (
	"fmt"
	"maps"
	"time"
)

// etcdGeneration is the name under which Generations counts how often etcd began anew.
const etcdGeneration = "etcd-cluster"

// EtcdCluster is the identity of the etcd cluster: the cluster's UUID, with a number once etcd was restored from a snapshot. Members of
// different identities never talk to each other, so what an old disk holds is not mixed with what was restored.
func (p *Public) EtcdCluster() string {
	if p.EtcdRestored() {
		return fmt.Sprintf("%s-%d", p.Cluster, p.Generation(etcdGeneration))
	}
	return p.Cluster
}

// EtcdRestored says that etcd's data comes from a snapshot: no member may begin with nothing ever again.
func (p *Public) EtcdRestored() bool { return p.Generation(etcdGeneration) > 1 }

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
