package templates_test

import (
	"strings"
	"testing"
)

// installs lets the package manager bring the machine's programs.
func (m *aMachine) installs() {
	m.t.Helper()
	m.data["steps"] = "files machine packages preflight kubelet node retire"
}

// TestBootInstalls: packages are installed once.
func TestBootInstalls(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.installs()
		m.document()
		m.wantDone()
		m.wantDone()
		calls := m.read(m.world + "/systemctl")
		if got := strings.Count(calls, "start kiln-packages.service\n"); got != 1 {
			t.Errorf("%d times; calls of systemctl:\n%s", got, calls)
		}
	})
}

// TestBootInstallWaits: the machine says why packages do not come, and goes on when they do.
func TestBootInstallWaits(t *testing.T) {
	underOneShell(t, 0, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.installs()
		m.know("no-packages", "")
		m.know("journal", "E: Unable to locate package kubelet\n")
		m.data["step_timeout"] = "1"
		m.document()
		m.wantOverdue("FAULT packages kiln-packages.service: E: Unable to locate package kubelet")
	})
}
