package templates_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// extends lets the machine fetch a system extension, whose files appear below /usr when it is
// merged.
func (m *aMachine) extends() *mirror {
	m.t.Helper()
	s := m.fetches()
	s.files = map[string][]byte{"/kubernetes.raw": []byte("an image\n")}
	sum := sha256.Sum256(s.files["/kubernetes.raw"])
	m.at("/etc/kiln/artifacts", hex.EncodeToString(sum[:])+
		" - /var/lib/extensions/kubernetes.raw - - "+s.url+"/kubernetes.raw\n")
	m.data["steps"] = "files machine fetch extend preflight kubelet node"
	m.data["kubelet"], m.data["kubelet_version"] = "/usr/bin/kubelet", "v1.36.3"
	write(m.t, m.world+"/extension/bin/kubelet", string(program("Kubernetes v1.36.3")), 0o755)
	write(m.t, m.world+"/extension/local/bin/cni/bridge", "a plugin\n", 0o755)
	write(m.t, m.world+"/extension/local/bin/cni/portmap", "of the extension\n", 0o755)
	write(m.t, m.root+"/opt/cni/bin/portmap", "of somebody else\n", 0o755)
	return s
}

// TestBootExtends: the hook merges the extension once and starts again, because it does not see the
// new /usr. Then the machine has the kubelet and the CNI plugins.
func TestBootExtends(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		s := m.extends()
		m.document()
		out, code := m.run()
		if v := m.status(); code != 143 || v.Phase != "stopped" || len(v.Faults) > 0 {
			t.Fatalf("the first start ends with %d, %s\n%s", code, v.Phase, out)
		}
		calls := m.read(m.world + "/systemctl")
		require.True(t, strings.HasSuffix(calls, "restart systemd-sysext.service\n"+
			"restart --no-block kiln.service\n"), "calls of systemctl:\n%s", calls)
		m.wantDone()
		m.wantDone()
		require.Len(t, s.asked, 1)
		calls = m.read(m.world + "/systemctl")
		require.Equal(t, 1, strings.Count(calls, "systemd-sysext.service"))
		folder, err := os.Stat(m.root + "/var/lib/extensions")
		must(t, err)
		require.EqualValues(t, 0o755, folder.Mode().Perm())
		for name, want := range map[string]string{
			"bridge": "a plugin\n", "portmap": "of somebody else\n",
		} {
			path := m.root + "/opt/cni/bin/" + name
			require.Equal(t, want, m.read(path), name)
			info, err := os.Stat(path)
			must(t, err)
			require.EqualValues(t, 0o755, info.Mode().Perm(), name)
		}
	})
}

// TestBootExtendStops: an extension that does not fit is merged once, and named.
func TestBootExtendStops(t *testing.T) {
	for i, row := range []struct{ name, says, want string }{
		{"left out", "", "No such file or directory"},
		{"another version", "Kubernetes v1.36.30", "says 'Kubernetes v1.36.30', expected v1.36.3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				m.extends()
				must(t, os.RemoveAll(m.world+"/extension/bin"))
				if row.says != "" {
					write(t, m.world+"/extension/bin/kubelet", string(program(row.says)), 0o755)
				}
				m.document()
				_, code := m.run()
				require.Equal(t, 143, code)
				out := m.wantFaults("FAULT artifact-incompatible " +
					"/var/lib/extensions/kubernetes.raw: /usr/bin/kubelet says '")
				require.False(t, row.says != "" && !strings.Contains(out, row.want), "output:\n%s",
					out)
			})
		})
	}
}
