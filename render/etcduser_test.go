package render_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// TestEtcdUser: the pod of a member, the owners of its files and the check at the first boot agree
// on one user and group: those of the image, if it has them. Only for other images the document
// makes them, because Ignition fails on a user that is in a second user database.
func TestEtcdUser(t *testing.T) {
	t.Parallel()
	own := &node.User{Name: plan.EtcdUser, ID: 2379, Home: plan.EtcdData}
	for _, row := range []struct {
		os          string
		uid, gid    int
		user, group string     // in the document
		made        *node.User // by the document
	}{
		{"flatcar", 232, 232, "232", "232", nil},
		{"fedora-coreos", 998, 997, "998", "997", nil},
		{"microos", 2379, 2379, "etcd", "etcd", own},
		{"ubuntu", 2379, 2379, "etcd", "etcd", own},
		{"debian", 2379, 2379, "etcd", "etcd", own},
		{"rhel", 2379, 2379, "etcd", "etcd", own},
		{"amazon-linux", 2379, 2379, "etcd", "etcd", own},
	} {
		t.Run(row.os, func(t *testing.T) {
			t.Parallel()
			r := cluster(t,
				"  - {name: etcd-1, role: etcd, addresses: [10.0.0.31], os: "+row.os+"}")
			m := rendered(t, r, "etcd-1")
			pod := string(m.file(plan.ManifestsDir + "/etcd.yaml").Content)
			require.Contains(t, pod, "\n    runAsGroup: "+strconv.Itoa(row.gid)+"\n")
			require.Contains(t, pod, "\n    runAsUser: "+strconv.Itoa(row.uid)+"\n")
			key := m.file(plan.EtcdPKIDir + "/server.key")
			require.Equal(t, []string{row.user, row.group}, []string{key.User, key.Group})
			require.Contains(t, m.n.Dirs,
				node.Dir{Path: plan.EtcdData, Mode: 0o700, User: row.user, Group: row.group})
			require.Contains(t, string(m.file(plan.KilnDir+"/checks").Content),
				fmt.Sprintf("\netcd-user|stop|user etcd %[1]d %[2]d|its pod runs as %[1]d:%[2]d: ",
					row.uid, row.gid))
			if row.made == nil {
				require.Empty(t, m.n.Users)
			} else {
				require.Equal(t, []node.User{*row.made}, m.n.Users)
			}
			checks := rendered(t, r, "cp-1").file(plan.KilnDir + "/checks")
			require.NotContains(t, string(checks.Content), "etcd-user")
		})
	}
}
