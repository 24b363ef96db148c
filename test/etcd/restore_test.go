package etcd

import (
	"os"
	"testing"
	"time"
)

// TestRestore loses all disks. One machine gets a snapshot, and the documents of a render that
// names the machine bring the cluster back, in whatever order the machines get power. The data on
// the old disks stays apart for ever.
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 3} {
		t.Run(map[int]string{1: "one", 3: "three"}[members], func(t *testing.T) {
			t.Parallel()
			l := newLab(t, members)
			l.form(map[int][]int{1: {0}, 3: {0, 1, 2}}[members]...)
			keys := l.write(nil, 20)
			l.wantCluster(keys, l.members...)
			old := l.members[0].clusterID()
			holder := l.members[members-1]
			holder.backUp()
			time.Sleep(1100 * time.Millisecond) // its name has seconds
			snapshot := holder.backUp()
			data, err := os.ReadFile(holder.root + snapshot)
			l.check(err)
			l.write(keys, 3) // written after the snapshot, and lost
			l.later()        // for all but the restore
			for _, m := range l.members {
				m.cutPower()
				l.check(os.CopyFS(l.dir+"/lost/"+m.name, os.DirFS(m.root+"/var/lib/etcd")))
			}

			l.render(members, "--restore", holder.name+":"+snapshot)
			l.patience = 60 * time.Second
			for _, m := range l.members {
				m.late = false
				m.wipe(members)
			}
			holder.at(snapshot, string(data), 0o600)
			start := time.Now()
			for i, m := range l.members {
				if i > 0 {
					time.Sleep(2 * time.Second)
				}
				m.powerOn()
			}
			l.wantDone(l.members...)
			t.Logf("%s: restored after %.1f s", t.Name(), time.Since(start).Seconds())
			l.wantCluster(keys, l.members...)
			if id := holder.clusterID(); id == old {
				t.Errorf("the cluster still is %s", id)
			}
			keys = l.write(keys, 3)
			l.wantCluster(keys, l.members...)
			l.later()

			// An old disk belongs to another cluster, with the documents of the restore and with
			// those after it.
			m := l.members[0]
			if members == 1 {
				return
			}
			for _, arguments := range [][]string{{"--restore", holder.name + ":" + snapshot}, nil} {
				l.render(members, arguments...)
				m.wipe(members)
				l.check(os.CopyFS(m.root+"/var/lib/etcd", os.DirFS(l.dir+"/lost/"+m.name)))
				m.powerOn()
				l.wantFault("etcd-foreign", m)

				// With an empty disk the machine comes back as always. So does the restored one,
				// without its snapshot.
				for _, m := range []*member{m, holder} {
					m.wipe(members)
					m.powerOn()
					l.wantDone(m)
					l.wantCluster(keys, l.members...)
				}
			}

			// Whoever is restored never begins with nothing, not even in time.
			for _, m := range l.members {
				m.cutPower()
			}
			l.patience = 10 * time.Second
			for _, m := range l.members {
				m.late = false
				m.wipe(members)
				m.powerOn()
			}
			l.wantFault("etcd-nobody", l.members...)
		})
	}
}
