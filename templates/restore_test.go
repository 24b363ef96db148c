package templates_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// restores makes the machine the member that restores the snapshot.
func (m *aMachine) restores() {
	m.data["steps"] = strings.Replace(m.data["steps"], " etcd ", " restore etcd ", 1)
	m.data["etcd_cluster"] += "-2"
	m.data["etcd_snapshot"] = "/var/backups/etcd/a.db"
	m.data["etcd_image"] = "registry.k8s.io/etcd:3.6.11-0"
	m.know("images", "registry.k8s.io/etcd:3.6.11-0\n")
	m.at("/var/backups/etcd/a.db", "snapshot")
	must(m.t, os.Symlink("fakes/ctr", m.bin+"/ctr"))
}

// follows makes the machine one of the other members.
func (m *aMachine) follows() {
	m.data["steps"] = strings.Replace(m.data["steps"], " etcd ", " others etcd ", 1)
	m.data["etcd_cluster"] += "-2"
	m.data["etcd_deadline"] = "0"
}

const (
	restoredOwner = "0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11-2 cp-1\n"
	restoring     = "-n k8s.io run --rm --mount " +
		"type=bind,src=ROOT/var/lib/etcd,dst=ROOT/var/lib/etcd,options=rbind:rw " +
		"--mount type=bind,src=ROOT/var/backups/etcd,dst=ROOT/var/backups/etcd,options=rbind:ro " +
		"registry.k8s.io/etcd:3.6.11-0 kiln-restore " +
		"etcdutl snapshot restore ROOT/var/backups/etcd/a.db --data-dir " +
		"ROOT/var/lib/etcd/restore --name cp-1 " +
		"--initial-cluster cp-1=https://10.0.0.11:2380 --initial-advertise-peer-urls " +
		"https://10.0.0.11:2380 " +
		"--initial-cluster-token kiln/0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11-2 --bump-revision " +
		"1000000000 --mark-compacted\n"
)

// restoreRows has a row for each state of a machine while its cluster is restored from a snapshot.
var restoreRows = []struct {
	name    string
	arrange func(m *aMachine)
	ctr     []string // what containerd's client was told, shortened
	owner   string   // of the data in the end
	start   string   // what etcd is started with
	fault   string   // instead
	waits   bool     // the machine goes on trying
}{
	{name: "restored", start: asRendered, owner: restoredOwner,
		ctr: []string{"containers rm", "run"}, arrange: func(m *aMachine) { m.restores() }},
	{name: "cut off while it was restored", start: asRendered, owner: restoredOwner,
		ctr: []string{"containers rm", "run"}, arrange: func(m *aMachine) {
			m.restores()
			m.at("/var/lib/etcd/restore/member/snap/db", "half")
			m.at("/var/lib/etcd/kiln", restoredOwner)
		}},
	{name: "restored already", start: asRendered, owner: restoredOwner, arrange: func(m *aMachine) {
		m.restores()
		m.hasData(restoredOwner)
	}},
	{name: "restored, and replaced after that", start: asJoined, owner: restoredOwner,
		arrange: func(m *aMachine) {
			m.restores()
			m.peersKnow(addedIdle, known2, known3)
			m.lists(1, listed2, listed3, listedAdded)
			m.lists(9, listed2, listed3, listedNew)
		}},
	{name: "the image is pulled", start: asRendered, owner: restoredOwner,
		ctr: []string{"images pull", "containers rm", "run"}, arrange: func(m *aMachine) {
			m.restores()
			m.know("images", "another\n")
			m.know("can-pull", "")
		}},
	{name: "no image", ctr: []string{"images pull"}, arrange: func(m *aMachine) {
		m.restores()
		m.know("images", "another\n")
	}, waits: true,
		fault: "etcd-restore registry.k8s.io/etcd:3.6.11-0: ctr: no such host; "},
	{name: "no snapshot", arrange: func(m *aMachine) {
		m.restores()
		must(m.t, os.Remove(m.root+"/var/backups/etcd/a.db"))
	}, waits: true,
		fault: "etcd-snapshot /var/backups/etcd/a.db: missing; "},
	{name: "a bad snapshot", ctr: []string{"containers rm", "run"}, arrange: func(m *aMachine) {
		m.restores()
		m.know("bad-snapshot", "")
	}, fault: "etcd-restore /var/backups/etcd/a.db: Error: expected sha256 [1], got [2]; "},
	{name: "too late", arrange: func(m *aMachine) {
		m.restores()
		m.know("clock", "1800600001\n")
	}, waits: true,
		fault: "etcd-empty-after-formation /var/lib/etcd: empty at 1800600001, after 1800600000, " +
			"and no other member answers; "},
	{name: "the data is from before the restore", arrange: func(m *aMachine) {
		m.restores()
		m.hasData("0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 cp-1\n")
	}, fault: "etcd-foreign /var/lib/etcd: its data is of: 0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 " +
		"cp-1; "},

	{name: "another one is restored first", start: asJoined, owner: restoredOwner,
		arrange: func(m *aMachine) {
			m.follows()
			m.rule("GET", "*:2380/members", 9, 0, 7, "")
			m.peersKnow(addedIdle, known2)
			m.lists(1, listed2, listed3, listedAdded)
			m.lists(9, listed2, listed3, listedNew)
		}},
	{name: "nobody is restored", arrange: func(m *aMachine) { m.follows() },
		waits: true,
		fault: "etcd-nobody /var/lib/etcd: empty, and no other member answers; "},
	{name: "there is nobody else", arrange: func(m *aMachine) {
		m.follows()
		m.alone()
	}, fault: "etcd-nobody /var/lib/etcd: empty, and no other member answers; "},
	{name: "two clusters", arrange: func(m *aMachine) {
		m.follows()
		m.rule("GET", "*.12:2380/members", 9, 200, 0, "["+known2+"]")
		m.rule("GET", "*.13:2380/members", 9, 200, 0, "["+known3+"]")
		m.know("etcd-id", "aaaa\n")
		write(m.t, m.bin+"/cat", twoClusters, 0o755)
	}, fault: "etcd-split /var/lib/etcd: empty, and it is of cluster bbbb, another one of aaaa; "},
	{name: "its own data", start: asRendered, owner: restoredOwner, arrange: func(m *aMachine) {
		m.follows()
		m.hasData(restoredOwner)
	}},
	{name: "its data is from before the restore", arrange: func(m *aMachine) {
		m.follows()
		m.hasData("0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 cp-1\n")
		m.peersKnow(known2)
	}, fault: "etcd-foreign /var/lib/etcd: its data is of: 0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 " +
		"cp-1; "},
	{name: "the one with the data goes away again", arrange: func(m *aMachine) {
		m.follows()
		m.rule("GET", "*:2380/members", 1, 200, 0, "["+known2+"]")
		m.rule("GET", "*:2380/members", 99, 0, 7, "")
	}, waits: true,
		fault: "etcd-empty-after-formation /var/lib/etcd: empty at 1800000000, after 0, " +
			"and no other member answers; "},
}

func TestRestore(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range restoreRows {
			if !isTurn(t, shell, i) {
				continue
			}
			t.Run(row.name, func(t *testing.T) {
				m := newMachine(t, shell, "control-plane")
				m.check = m.check[:1]
				m.data["step_timeout"] = "30"
				row.arrange(m)
				m.document()
				before := m.kept()
				if row.fault != "" {
					m.wantFault("FAULT "+row.fault, row.waits)
					require.Equal(t, before, m.kept())
				} else {
					m.wantDone()
					m.wantMember(row.start, row.owner)
				}
				told := strings.Fields(strings.ReplaceAll(m.read(m.world+"/ctr"), " ", "_"))
				for i := range told {
					told[i] = strings.ReplaceAll(told[i], "_", " ")
				}
				require.Equal(t, strings.Join(row.ctr, "\n"),
					strings.Join(slices.Compact(told), "\n"))
				if slices.Contains(row.ctr, "run") {
					require.Equal(t, restoring,
						strings.ReplaceAll(m.read(m.world+"/ctr-run"), m.root, "ROOT"))
					require.False(t, row.fault == "" &&
						m.read(m.root+"/var/lib/etcd/member/snap/db") != "whole\n")
				}
			})
		}
	})
}
