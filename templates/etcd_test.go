package templates_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the members know, as they answer on the port for peers (known) and on the port for clients
// (listed).
const (
	known2, listed2 = `{"id":12,"peerURLs":["https://10.0.0.12:2380"],"name":"cp-2",` +
		`"clientURLs":["c"]}`, `{"ID":"12","name":"cp-2","peerURLs":["https://10.0.0.12:2380"],` +
		`"clientURLs":["c"]}`
	known3, listed3 = `{"id":13,"peerURLs":["https://10.0.0.13:2380"],"name":"cp-3",` +
		`"clientURLs":["c"]}`, `{"ID":"13","name":"cp-3","peerURLs":["https://10.0.0.13:2380"],` +
		`"clientURLs":["c"]}`
	// This machine: it has run; it has never run; it was added and has not run; it runs and has no
	// vote; it has one.
	ran, listedRan = `{"id":11,"peerURLs":["https://10.0.0.11:2380"],"name":"cp-1",` +
		`"clientURLs":["c"]}`, `{"ID":"11","name":"cp-1","peerURLs":["https://10.0.0.11:2380"],` +
		`"clientURLs":["c"]}`
	idle, listedIdle = `{"id":11,"peerURLs":["https://10.0.0.11:2380"],"name":"cp-1"}`,
		`{"ID":"11","name":"cp-1","peerURLs":["https://10.0.0.11:2380"]}`
	addedIdle, listedAdded = `{"id":99,"peerURLs":["https://10.0.0.11:2380"],"isLearner":true}`,
		`{"ID":"99","peerURLs":["https://10.0.0.11:2380"],"isLearner":true}`
	listedLearner, listedNew = `{"ID":"99","name":"cp-1","peerURLs":["https://10.0.0.11:2380"],` +
		`"clientURLs":["c"],"isLearner":true}`, `{"ID":"99","name":"cp-1",` +
		`"peerURLs":["https://10.0.0.11:2380"],"clientURLs":["c"]}`
)

// peersKnow makes peers answer with these members.
func (m *aMachine) peersKnow(members ...string) {
	m.rule("GET", "*:2380/members", 9999, 200, 0, "["+strings.Join(members, ",")+"]")
}

// lists makes the members answer that many times with a list that a quorum confirms.
func (m *aMachine) lists(times int, members ...string) {
	m.rule("POST", "*/member/list", times, 200, 0, `{"header":{"cluster_id":"1",`+
		`"member_id":"12"},"members":[`+strings.Join(members, ",")+`]}`)
}

const (
	asRendered = "cp-1=https://10.0.0.11:2380,cp-2=https://10.0.0.12:2380," +
		"cp-3=https://10.0.0.13:2380\n    - --initial-cluster-state=new\n"
	asJoined = "cp-2=https://10.0.0.12:2380,cp-3=https://10.0.0.13:2380," +
		"cp-1=https://10.0.0.11:2380\n    - --initial-cluster-state=existing\n"
)

// etcdRows has a row for each combination of what this machine's disk holds and what the other
// members say.
var etcdRows = []struct {
	name    string
	arrange func(m *aMachine)
	start   string   // what etcd is started with
	calls   []string // that change the members, in their order
	fault   string   // instead
	waits   bool     // the machine goes on trying
}{
	{name: "nobody answers yet", start: asRendered, arrange: func(*aMachine) {}},
	{name: "nobody answers in time", start: asRendered,
		arrange: func(m *aMachine) { m.rule("GET", "*:2380/members", 9, 0, 28, "") }},
	{name: "another forms the cluster and waits for this one", start: asRendered,
		arrange: func(m *aMachine) {
			m.peersKnow(idle, `{"id":12,"peerURLs":["https://10.0.0.12:2380"],"name":"cp-2"}`,
				known3)
		}},
	{name: "the others have formed it", start: asJoined, arrange: func(m *aMachine) {
		m.peersKnow(idle, known2, known3)
		m.lists(1, listed2, listed3, listedIdle)
		m.lists(9, listed2, listed3, listedNew)
	}},
	{name: "the same, long after", start: asJoined, arrange: func(m *aMachine) {
		m.know("clock", "1820000000\n")
		m.peersKnow(idle, known2, known3)
		m.lists(1, listed2, listed3, listedIdle)
		m.lists(9, listed2, listed3, listedNew)
	}},
	{name: "replaced", start: asJoined, calls: []string{`remove {"ID":"11"}`,
		`add {"peerURLs":["https://10.0.0.11:2380"],"isLearner":true}`, `promote {"ID":"99"}`},
		arrange: func(m *aMachine) {
			m.know("clock", "1820000000\n")
			m.peersKnow(ran, known2, known3)
			m.lists(1, listedRan, listed2, listed3)
			m.lists(1, listed2, listed3)
			m.lists(1, listed2, listed3, listedAdded)
			m.lists(2, listed2, listed3, listedLearner)
			m.lists(9, listed2, listed3, listedNew)
			m.rule("POST", "*/member/promote", 2, 412, 0,
				`{"error":"etcdserver: can only promote a learner member which is in sync with `+
					`leader"}`)
			m.rule("POST", "*/member/*", 9999, 200, 0, "{}")
		}},
	{name: "added", start: asJoined, calls: []string{
		`add {"peerURLs":["https://10.0.0.11:2380"],"isLearner":true}`, `promote {"ID":"99"}`},
		arrange: func(m *aMachine) {
			m.know("clock", "1820000000\n")
			m.peersKnow(known2, known3)
			m.lists(1, listed2, listed3)
			m.lists(1, listed2, listed3, listedAdded)
			m.lists(1, listed2, listed3, listedLearner)
			m.lists(9, listed2, listed3, listedNew)
			m.rule("POST", "*/member/add", 2, 400, 0, `{"error":"etcdserver: too many learner `+
				`members in cluster"}`)
			m.rule("POST", "*/member/*", 9999, 200, 0, "{}")
		}},
	{name: "added, and cut off", start: asJoined, calls: []string{`promote {"ID":"99"}`},
		arrange: func(m *aMachine) {
			m.peersKnow(addedIdle, known2, known3)
			m.lists(1, listed2, listed3, listedAdded)
			m.lists(1, listed2, listed3, listedLearner)
			m.lists(9, listed2, listed3, listedNew)
			m.rule("POST", "*/member/*", 9999, 200, 0, "{}")
		}},
	{name: "its own disk, nobody answers", start: asRendered, arrange: func(m *aMachine) {
		m.know("clock", "1820000000\n")
		m.hasData("0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 cp-1\n")
	}},
	{name: "its own disk, and it is needed", start: asRendered, arrange: func(m *aMachine) {
		m.hasData("0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 cp-1\n")
		m.peersKnow(ran, known2, known3)
		m.rule("POST", "*/member/list", 9999, 503, 0, `{"error":"etcdserver: leader changed"}`)
	}},

	{name: "long after, nobody answers", arrange: func(m *aMachine) {
		m.know("clock", "1800600001\n")
	},
		waits: true,
		fault: "etcd-empty-after-formation /var/lib/etcd: empty at 1800600001, after 1800600000, " +
			"and no other member answers; "},
	{name: "two of three are gone", arrange: func(m *aMachine) {
		m.know("clock", "1820000000\n")
		m.peersKnow(ran, known2, known3)
		m.rule("POST", "*/member/list", 9999, 503, 0, `{"error":"etcdserver: request timed out"}`)
	}, waits: true,
		fault: "etcd-no-quorum https://10.0.0.11:2380: list: " +
			"cp-2: HTTP 503 {'error':'etcdserver: " +
			"request timed out'}, cp-3: HTTP 503 "},
	{name: "two of three are gone, while the cluster may be formed", arrange: func(m *aMachine) {
		m.peersKnow(ran, known2, known3)
		m.rule("POST", "*/member/list", 9999, 503, 0, `{"error":"etcdserver: request timed out"}`)
	}, waits: true,
		fault: "etcd-no-quorum https://10.0.0.11:2380: list: cp-2: HTTP 503 "},
	{name: "never a member, no quorum", arrange: func(m *aMachine) { m.peersKnow(known2, known3) },
		waits: true,
		fault: "etcd-no-quorum https://10.0.0.11:2380: list: cp-2: curl: (7) refused , cp-3: " +
			"curl: (7) refused ; "},
	{name: "added, no quorum", arrange: func(m *aMachine) {
		m.peersKnow(known2, known3, addedIdle)
	}, waits: true,
		fault: "etcd-no-quorum "},
	{name: "the others may not spare it", arrange: func(m *aMachine) {
		m.peersKnow(ran, known2, known3)
		m.lists(9999, listedRan, listed2, listed3)
		m.rule("POST", "*/member/remove", 9999, 400, 0, `{"error":"etcdserver: re-configuration `+
			`failed due to not enough started members"}`)
	}, waits: true,
		fault: "etcd-no-quorum https://10.0.0.11:2380: remove: cp-2: " +
			"HTTP 400 {'error':'etcdserver: re-configuration failed due to not enough started " +
			"members'}, cp-3: "},
	{name: "no vote", arrange: func(m *aMachine) {
		m.peersKnow(addedIdle, known2, known3)
		m.lists(1, listed2, listed3, listedAdded)
		m.lists(9999, listed2, listed3, listedLearner)
		m.rule("POST", "*/member/promote", 9999, 412, 0, `{"error":"etcdserver: `+
			`can only promote a learner member which is in sync with leader"}`)
	}, waits: true,
		fault: "etcd-learner https://10.0.0.11:2380: promote: cp-2: " +
			"HTTP 412 {'error':'etcdserver: can only promote a learner member which is in sync " +
			"with leader'}"},
	{name: "another's disk", arrange: func(m *aMachine) {
		m.hasData("0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 cp-2\n")
	},
		fault: "etcd-foreign /var/lib/etcd: its data is of: 0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 " +
			"cp-2; "},
	{name: "a disk of nobody", arrange: func(m *aMachine) { m.at("/var/lib/etcd/member/wal", "x") },
		fault: "etcd-foreign /var/lib/etcd: its data is of: somebody who left no name; "},
	{name: "an old disk", arrange: func(m *aMachine) {
		m.hasData("0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11 cp-1\n")
		m.peersKnow(ran, known2, known3)
		m.lists(9, listedRan, listed2, listed3)
	},
		fault: "etcd-kept /var/lib/etcd: it has data, and the other members run without it; " +
			"empty it"},
	{name: "a peer talks nonsense", arrange: func(m *aMachine) {
		m.rule("GET", "*10.0.0.12:2380/members", 9999, 200, 0, "hello")
	},
		waits: true,
		fault: "etcd-peer-unclear https://10.0.0.12:2380: HTTP 200; "},
	{name: "a peer of another CA", arrange: func(m *aMachine) {
		m.rule("GET", "*10.0.0.12:2380/members", 9999, 0, 60, "")
	},
		waits: true,
		fault: "etcd-peer-unclear https://10.0.0.12:2380: curl: (60) as the rule says; "},
	{name: "two clusters", arrange: func(m *aMachine) {
		m.know("etcd-id", "aaaa\n")
		m.rule("GET", "*10.0.0.12:2380/members", 9999, 200, 0, "["+known2+"]")
		m.rule("GET", "*10.0.0.13:2380/members", 9999, 200, 0, "["+known3+"]")
		m.rule("POST", "*", 9999, 200, 0, "{}")
		write(m.t, m.bin+"/cat", twoClusters, 0o755)
	}, fault: "etcd-split https://10.0.0.13:2380: it is of cluster bbbb, another one of aaaa; "},
}

// twoClusters is a program cat that names another cluster when it is called a second time.
const twoClusters = "#!/bin/sh\ncase $1 in */etcd-id) if [ -e \"$WORLD/asked\" ]; " +
	"then echo bbbb; else : >\"$WORLD/asked\"; echo aaaa; fi ;; *) exec /bin/cat \"$@\" ;; esac\n"

// hasData gives the machine a disk with the data of the member that owner names.
func (m *aMachine) hasData(owner string) {
	m.at("/var/lib/etcd/member/wal", "x")
	m.at("/var/lib/etcd/kiln", owner)
}

// wantMember wants etcd to start with these members, and the disk to belong to owner.
func (m *aMachine) wantMember(start, owner string) {
	m.t.Helper()
	manifest := m.read(m.root + "/etc/kubernetes/manifests/etcd.yaml")
	want := "    - --initial-cluster=" + start + "    - --initial-cluster-token=t\n"
	require.Equal(m.t, want, manifest)
	require.Equal(m.t, owner, m.read(m.root+"/var/lib/etcd/kiln"))
}

func TestEtcd(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range etcdRows {
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
					_, err := os.Stat(m.root + "/var/lib/kiln/kubelet-allowed")
					require.False(t, err != nil && m.kept() != before)
					return
				}
				m.wantDone()
				m.wantMember(row.start, m.data["cluster"]+" cp-1\n")
				var calls []string
				for line := range strings.Lines(m.read(m.world + "/curl")) {
					_, data, _ := strings.Cut(line, " -d ")
					data, _, _ = strings.Cut(data, " --cacert")
					for _, call := range []string{"remove", "add", "promote"} {
						if c := call + " " + data; strings.Contains(line, "/member/"+call+" ") ||
							strings.HasSuffix(line, "/member/"+call+"\n") {
							// The call is repeated until the list shows its effect.
							if len(calls) == 0 || calls[len(calls)-1] != c {
								calls = append(calls, c)
							}
						}
					}
				}
				require.Equal(t, row.calls, calls)
			})
		}
	})
}
