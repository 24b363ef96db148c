package templates_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// remains reports whether the machine still holds a file.
func (m *aMachine) remains(path string) bool {
	_, err := os.Lstat(m.root + path)
	return err == nil
}

const (
	installKey = "/etc/kubernetes/pki/install.key"
	synced     = "/run/systemd/timesync/synchronized"
	bootstrap  = "/etc/kubernetes/bootstrap-kubelet.conf"
)

// TestBootEndsCredential: a machine keeps the install credential while it waits and may still need
// it. It removes the credential when it has ended, and waits on without it.
func TestBootEndsCredential(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		waits := func() *aMachine {
			m := newMachine(t, shell, "control-plane")
			m.data["step_timeout"] = "3"
			m.rule("GET", "*/configmaps/kiln", 9999, 401, 0, "")
			m.document()
			return m
		}
		m := waits()
		m.at(synced, "")
		m.wantOverdue("FAULT object ")
		require.True(t, m.remains(installKey), "it was removed although it is needed")
		m.know("clock", "1800600001\n")
		m.wantOverdue("FAULT object ")
		require.False(t, m.remains(installKey))
		require.False(t, m.remains("/etc/kubernetes/pki/install.crt"))
		// Another control plane has applied the objects.
		must(t, os.RemoveAll(m.world+"/rules"))
		m.wantOverdue("FAULT object " + kubeSystem +
			"/configmaps/kiln: the install credential has ended; ")
		m.know("api/api_v1_namespaces_kube-system_configmaps_kiln", "")
		m.wantDone()

		// A clock that nobody has set may be wrong.
		m = waits()
		m.know("clock", "1800600001\n")
		m.data["etcd_deadline"] = "1900000000"
		m.document()
		m.wantOverdue("FAULT object ")
		require.True(t, m.remains(installKey), "it was removed although the clock may be wrong")
	})
}

// TestBootEndsCredentialOfStopped: a person may mend a machine that stopped, so it keeps the
// install credential, and a timer removes it when it has ended. On a machine that no mending helps
// it is removed at once.
func TestBootEndsCredentialOfStopped(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		m.know("cpus", "1\n")
		m.wantFaults("FAULT cpus ")
		const timer = "--on-calendar @1800600000 sh -c rm -f $* rm /run/ignition.json"
		if timers := m.read(m.world + "/timers"); !m.remains(installKey) ||
			!strings.Contains(timers, timer) || !strings.Contains(timers, installKey) {
			t.Errorf("timers: %s", timers)
		}
		m.at(synced, "")
		m.know("clock", "1800600001\n")
		m.wantFaults("FAULT cpus ")
		require.False(t, m.remains(installKey), "it is still there")

		m = newMachine(t, shell, "control-plane")
		m.document()
		m.know("cpus", "1\n")
		m.wantFaults("FAULT cpus ")
		m.at("/etc/machine-id", "ffffffffffffffffffffffffffffffff\n")
		m.wantFaults("FAULT cloned ")
		require.False(t, m.remains(installKey), "a copy of the machine keeps it")

		m = newMachine(t, shell, "control-plane")
		m.document()
		m.know("cpus", "1\n")
		m.wantFaults("FAULT cpus ")
		m.at("/etc/with space.conf", "another document")
		m.document()
		m.wantFaults("FAULT document-changed ")
		require.False(t, m.remains(installKey), "it is still there after the document was changed")
	})
}

// TestPoolEndsToken: a machine whose bootstrap token has ended before its kubelet got a certificate
// can never join. It says so, stops and removes the token. As long as the token lasts it waits.
func TestPoolEndsToken(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		code := 401 // 403 where anonymous requests are let in
		if isTurn(t, shell, 1) {
			code = 403
		}
		answer := fmt.Sprintf("HTTP %d", code)
		m := newMachine(t, shell, "worker")
		m.ofPool("-4")
		m.know("hostname", "pool-7\n")
		m.data["step_timeout"] = "3"
		m.know("no-kubelet", "active\n")
		m.rule("GET", "*:10248/healthz", 9999, 200, 0, "")
		m.rule("GET", "*/nodes/*", 9999, code, 0, "")
		m.at(synced, "")
		m.document()
		m.wantOverdue("FAULT kubelet-credential https://10.0.0.11:6443/api/v1/nodes/pool-7: " +
			answer + "; kubectl get csr")
		require.True(t, m.remains(bootstrap), "the token was removed although it is needed")
		require.NotContains(t, m.read(m.world+"/curl"), "--cert ")
		m.know("clock", "1800600001\n")
		m.wantFaults("FAULT kubelet-credential https://10.0.0.11:6443/api/v1/nodes/pool-7: " +
			answer + "; its bootstrap token has ended: ")
		require.False(t, m.remains(bootstrap), "the token is still there")
	})
}
