package templates_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
)

// TestBootStops has one row for everything that stops a machine, with the faults in their order.
func TestBootStops(t *testing.T) {
	const missing, differs = "missing; write the document",
		"not what was rendered; write the document"
	never := func(name string) func(*aMachine) { return func(m *aMachine) { m.know(name, "") } }
	tell := func(name, what string) func(*aMachine) {
		return func(m *aMachine) { m.know(name, what+"\n") }
	}
	answer := func(method, url string, code, exit int, body string) func(*aMachine) {
		return func(m *aMachine) { m.rule(method, url, 9999, code, exit, body) }
	}
	for i, row := range []struct {
		name  string
		role  string            // or worker
		wrong func(m *aMachine) // before the document is written
		later func(m *aMachine) // after that
		want  []string
	}{
		// files
		{name: "file missing", later: func(m *aMachine) {
			os.Remove(m.root + "/etc/with space.conf")
		},
			want: []string{"FAULT file-damaged /etc/with space.conf: " + missing}},
		{name: "file changed", later: func(m *aMachine) {
			m.at("/etc/kubernetes/pki/ca.crt", "cA")
		},
			want: []string{"FAULT file-damaged /etc/kubernetes/pki/ca.crt: " + differs}},
		{name: "several files", later: func(m *aMachine) {
			m.at("/etc/kiln/checks", "")
			m.at("/etc/kiln/machine", "node='")
		},
			want: []string{"FAULT file-damaged /etc/kiln/checks: " + differs,
				"FAULT file-damaged /etc/kiln/machine: " + differs}},
		{name: "manifest cut off", later: func(m *aMachine) {
			f := m.root + "/etc/kiln/files"
			whole := m.read(f)
			must(m.t, os.WriteFile(f, []byte(whole[:strings.LastIndex(whole, "end ")]), 0o600))
		}, want: []string{"FAULT file-damaged /etc/kiln/files: cut off"}},
		{name: "manifest empty", later: func(m *aMachine) { m.at("/etc/kiln/files", "") },
			want: []string{"FAULT file-damaged /etc/kiln/files: cut off"}},
		{name: "manifest missing", later: func(m *aMachine) {
			os.Remove(m.root + "/etc/kiln/files")
		},
			want: []string{"FAULT file-damaged /etc/kiln/files: missing"}},
		{name: "file for a folder", wrong: func(m *aMachine) {
			m.at("/etc/x", "")
			m.kinds = append(m.kinds, "dir 0700 root:root /etc/x/y")
		}, want: []string{"FAULT file-damaged /etc/x/y: not a folder"}},
		{name: "no place for a link", wrong: func(m *aMachine) {
			m.at("/etc/x", "")
			m.kinds = append(m.kinds, "link z - /etc/x/y")
		}, want: []string{"FAULT file-damaged /etc/x/y: not a link to z"}},
		{name: "owner unknown", wrong: func(m *aMachine) {
			m.kinds = append(m.kinds, "dir 0700 nobody-at-all:root /etc/x")
		},
			want: []string{"FAULT file-damaged /etc/x: not 0700 nobody-at-all:root"}},

		// preflight
		{name: "cpus", wrong: tell("cpus", "1"), want: []string{"FAULT cpus at_least 2 nproc: 1; " +
			"give it two CPUs"}},
		{name: "memory", wrong: func(m *aMachine) {
			m.at("/proc/meminfo",
				"MemTotal: 1048576 kB\n")
		},
			want: []string{"FAULT memory memory_kib 1740800: 1048576; "}},
		{name: "arch", wrong: tell("arch", "aarch64"),
			want: []string{"FAULT arch equals x86_64 uname -m: aarch64; "}},
		{name: "swap", wrong: never("no-swapoff"), want: []string{"FAULT swap swap_off: " +
			"/dev/sda2 partition"}},
		{name: "swap kept", wrong: func(m *aMachine) { m.lacks(templates.IfSwapOff) },
			want: []string{"FAULT swap swap_off: /dev/sda2"}},
		{name: "program", wrong: func(m *aMachine) {
			m.check = []string{"c|stop|exist no-such-command|install it"}
		},
			want: []string{"FAULT c exist no-such-command: missing: no-such-command; install"}},
		{name: "module", wrong: never("no-module"), want: []string{"FAULT module " +
			"modules br_netfilter: missing: br_netfilter; "}},
		{name: "sysctl", wrong: never("no-sysctl"), want: []string{"FAULT sysctl " +
			"sysctls net/ipv4/ip_forward=1: it is: net/ipv4/ip_forward=0; "}},
		{name: "port, IPv4", wrong: func(m *aMachine) {
			m.at("/proc/net/tcp", "  sl\n   1: 0B00000A:192B 00000000:0000 0A 0:0\n")
		}, want: []string{"FAULT port ports_free 6443 10250: in use: 6443; ss -lntp"}},
		{name: "port, IPv6", wrong: func(m *aMachine) {
			z := strings.Repeat("0", 32)
			m.at("/proc/net/tcp6", "  sl\n   1: "+z+":280A "+z+":0000 0A 0:0\n")
		}, want: []string{"FAULT port ports_free 6443 10250: in use: 10250; "}},
		{name: "certificate expired", wrong: tell("clock", "1900000000"),
			want: []string{"FAULT cert-expired at_most 1830000000 date +%s: 1900000000; " +
				"render again"}},
		{name: "kubelet absent", wrong: func(m *aMachine) {
			m.check = []string{"kubelet|stop|has_word v1.36 no-kubelet --version|x"}
		},
			want: []string{"FAULT kubelet has_word v1.36 no-kubelet --version: "}},
		{name: "kubelet old", wrong: tell("kubelet-version", "Kubernetes v1.9.11"),
			want: []string{
				"FAULT kubelet has_word v1.36 kubelet --version: Kubernetes v1.9.11; "}},
		{name: "disk", wrong: func(m *aMachine) {
			m.check = []string{"disk|stop|at_least 999999999 free_mib var|make room"}
		},
			want: []string{"FAULT disk at_least 999999999 free_mib var: "}},
		{name: "all together", wrong: func(m *aMachine) {
			m.know("cpus", "1\n")
			m.know("arch", "riscv64\n")
			m.know("active", "inactive\n")
			m.know("kernel", "5.4.0\n")
		}, want: []string{"FAULT cpus at_least 2 nproc: 1",
			"FAULT arch equals x86_64 uname -m: riscv64",
			"FAULT runtime-active equals active systemctl is-active containerd.service: inactive"}},

		// etcd
		{role: "control-plane", name: "etcd after formation", wrong: func(m *aMachine) {
			m.know("clock", "1800600001\n")
			m.alone() // nobody can come back
		},
			want: []string{"FAULT etcd-empty-after-formation /var/lib/etcd: empty at 1800600001, " +
				"after 1800600000, and no other member answers; "}},
		// objects
		{role: "control-plane", name: "labels refused",
			wrong: answer("PATCH", "*/nodes/*", 422, 0,
				`{"message":"bad label","reason":"Invalid"}`),
			want: []string{"FAULT object /api/v1/nodes/cp-1: HTTP 422: bad label; "}},

		// the hook itself
		{name: "unknown step", wrong: func(m *aMachine) { m.data["steps"] = "files dance" },
			want: []string{"FAULT hook dance: ended with status 127; "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				role := row.role
				if role == "" {
					role = "worker"
				}
				m := newMachine(t, shell, role)
				m.data["step_timeout"] = "3"
				if row.wrong != nil {
					row.wrong(m)
				}
				m.document()
				if row.later != nil {
					row.later(m)
				}
				before := m.kept()
				m.wantFaults(row.want...)
				_, err := os.Stat(m.root + "/var/lib/kiln/kubelet-allowed")
				require.False(t, err != nil && m.kept() != before)
			})
		})
	}
}
