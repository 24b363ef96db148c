package templates_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installs lets the package manager bring the machine's programs.
func (m *aMachine) installs() {
	m.t.Helper()
	m.data["steps"] = "files machine packages preflight kubelet node"
	m.data["kubelet"], m.data["kubelet_version"] = "/usr/bin/kubelet", "v1.36.3"
	write(m.t, m.root+"/usr/bin/kubelet", string(program("Kubernetes v1.36.3")), 0o755)
}

// TestBootInstalls: packages are installed once.
func TestBootInstalls(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.installs()
		m.document()
		m.wantDone()
		m.wantDone()
		calls := m.read(m.world + "/systemctl")
		require.Equal(t, 1, strings.Count(calls, "start kiln-packages.service\n"), calls)
	})
}

// TestBootInstallsAnother: a package manager that is content is not enough.
func TestBootInstallsAnother(t *testing.T) {
	for i, row := range []struct{ name, says, want string }{
		{"another version", "Kubernetes v1.36.4",
			"/usr/bin/kubelet says 'Kubernetes v1.36.4', expected v1.36.3"},
		{"none", "", "/usr/bin/kubelet says '"},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				m.installs()
				must(t, os.Remove(m.root+"/usr/bin/kubelet"))
				if row.says != "" {
					write(t, m.root+"/usr/bin/kubelet", string(program(row.says)), 0o755)
				}
				m.data["step_timeout"] = "1"
				m.document()
				m.wantOverdue("FAULT packages kiln-packages.service: " + row.want)
			})
		})
	}
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
