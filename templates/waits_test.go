package templates_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestBootGoesOn: a machine that was stopped finishes once the cause is removed, without repeating
// the steps that were done.
func TestBootGoesOn(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "20"
		m.document()
		m.know("cpus", "1\n")
		m.wantFaults("FAULT cpus ")
		m.know("cpus", "2\n")
		m.rule("GET", "*:10259/healthz", 99, 503, 0, "")
		m.wantOverdue("FAULT kube-scheduler-unhealthy ")
		m.at("/proc/net/tcp", "  sl\n   1: 0B00000A:192B 00000000:0000 0A 0:0\n")
		must(t, os.RemoveAll(m.world+"/rules"))
		must(t, os.Truncate(m.world+"/systemctl", 0))
		m.wantDone()
		require.Equal(t, "stop *.swap\nstart --no-block "+
			"kubelet.service\n", m.read(m.world+"/systemctl"))
	})
}

// TestBootWaits: the hook waits for what is not there yet, and names it at once and then once a
// minute, whatever the clock does.
func TestBootWaits(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		m.know("clock", "1789999900\n")                        // 100 s too early
		m.rule("GET", "*:10248/healthz", 120, 0, 7, "")        // some 80 s
		m.rule("GET", "*/readyz", 2, 500, 0, "[-]etcd failed") // of etcd
		m.rule("GET", "*/configmaps/kiln", 2, 403, 0, `{"message":"RBAC: not yet",`+
			`"reason":"Forbidden"}`)
		for _, code := range []int{0, 401, 403, 404, 409, 429, 500, 503} {
			m.rule("PATCH", "*/coredns*", 1, code, map[int]int{0: 52}[code], "")
		}
		m.rule("GET", "*/nodes/cp-1", 2, 404, 0, "")
		out := m.wantDone()
		for text, times := range map[string]int{
			"preflight: waiting for this machine: clock-behind: 1789999900; ":                  1,
			"preflight: waiting for this machine: ":                                            2,
			"kubelet: waiting for kubelet: curl: (7) as the rule says":                         2,
			"objects: waiting for etcd: HTTP 500 [-]etcd failed":                               1,
			"objects: waiting for " + kubeSystem + "/configmaps/kiln: HTTP 403: RBAC: not yet": 1,
			"node: waiting for cp-1: HTTP 404":                                                 1,
		} {
			require.Equal(t, times, strings.Count(out, text), "%v: %v", text, out)
		}
	})
}

func TestBootRepairsModes(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		must(t, os.Chmod(m.root+"/etc/kubernetes/pki/install.key", 0o644))
		must(t, os.Chmod(m.root+"/etc/with space.conf", 0o777))
		must(t, os.Chmod(m.root+"/etc/kubernetes/manifests", 0o755))
		out := m.wantDone()
		for path, mode := range map[string]os.FileMode{"/etc/with space.conf": 0o600,
			"/etc/kubernetes/manifests": 0o700 | os.ModeDir} {
			if info, err := os.Stat(m.root + path); err != nil || info.Mode() != mode {
				t.Error(path, info.Mode(), err)
			}
			require.Contains(t, out, path)
		}
	})
}

// TestBootOwners: the list may name owners by number, and the hook corrects other owners.
func TestBootOwners(t *testing.T) {
	need.Right(t, "root")
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.kinds = append(m.kinds, "dir 0700 0:0 /etc/number", "dir 0700 4242:4243 /etc/foreign")
		m.document()
		for _, dir := range []string{"number", "foreign"} {
			must(t, os.MkdirAll(m.root+"/etc/"+dir, 0o700))
		}
		out := m.wantDone()
		for _, path := range []string{"/etc/number", "/etc/hostname"} {
			require.NotContains(t, out, path)
		}
		info, err := os.Stat(m.root + "/etc/foreign")
		must(t, err)
		if own := info.Sys().(*syscall.Stat_t); own.Uid != 4242 || own.Gid != 4243 {
			t.Errorf("/etc/foreign is %d:%d's", own.Uid, own.Gid)
		}
	})
}

// TestBootLabelsLater: a control plane whose power failed before the step labels goes on there,
// also if its API server does not answer well yet.
func TestBootLabelsLater(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		m.wantDone()
		state := m.read(m.root + "/var/lib/kiln/state")
		begin, rest, found := strings.Cut(state, `,"labels"`)
		_, end, _ := strings.Cut(rest, "\n")
		require.True(t, found, state)
		m.at("/var/lib/kiln/state", begin+"\n"+end)
		m.at("/etc/kubernetes/pki/install.crt", "install")
		m.at("/etc/kubernetes/pki/install.key", secret)
		m.rule("GET", "*/nodes/cp-1", 2, 503, 0, "")
		m.wantDone()
	})
}

// TestBootWakesKubelet: the kubelet starts again when the API server answers. That of a member that
// joins does so once more, if its Node is not Ready although Flannel has written its list of
// plugins.
func TestBootWakesKubelet(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		for want, joins := range []bool{false, true} {
			m := newMachine(t, shell, "control-plane")
			m.at("/etc/cni/net.d/10-flannel.conflist", "{}")
			m.rule("GET", "https://10.0.0.11:6443/api/v1/nodes/cp-1", 4, 200, 0, `{"status":`+
				`{"conditions":[{"type":"Ready","status":"False","message":"no network"}],`+
				`"nodeInfo":{"machineID":"6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1"}}}`)
			if joins {
				m.peersKnow(idle, known2, known3)
				m.lists(1, listed2, listed3, listedIdle)
				m.lists(9, listed2, listed3, listedNew)
			}
			m.document()
			m.wantDone()
			require.Equal(t, want+1, strings.Count(m.read(m.world+"/systemctl"),
				"restart --no-block kubelet.service\n"))
		}
	})
}
