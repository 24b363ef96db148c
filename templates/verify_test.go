package templates_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// verifiable gives the machine units, a folder and a link, and writes its document.
func (m *aMachine) verifiable() {
	m.t.Helper()
	for _, unit := range []string{"kiln.service", "kubelet.service", "kiln-backup.timer"} {
		m.at("/etc/systemd/system/"+unit, "[Unit]\n")
		m.know("show-"+unit, "/etc/systemd/system/"+unit+"\n\n")
	}
	m.at("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf", "[Service]\n")
	m.know("show-kubelet.service", "/etc/systemd/system/kubelet.service\n\n"+
		"/usr/lib/systemd/system/service.d/10-timeout.conf "+
		"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf\n")
	must(m.t, os.MkdirAll(m.root+"/etc/systemd/system/multi-user.target.wants", 0o755))
	m.at("/etc/systemd/system/containerd.service.d/10-kiln.conf", "[Service]\n")
	// Not kiln's, but the image's.
	m.know("show-containerd.service", "/etc/systemd/system/containerd.service\n\n"+
		"/etc/systemd/system/containerd.service.d/image.conf\n")
	m.kinds = append(m.kinds, "link ../kubelet.service - "+
		"/etc/systemd/system/multi-user.target.wants/kubelet.service",
		"link ../kiln.service - /etc/systemd/system/multi-user.target.wants/kiln.service",
		"dir 0700 - /var/lib/cni", "dir 0755 0:0 /etc/etcd", "dir 0700 - /var/log/kubernetes")
	m.document()
}

// wantVerified runs the verb verify, which must change nothing and name exactly these paths.
func (m *aMachine) wantVerified(want ...string) {
	m.t.Helper()
	before := m.outcome()
	out, code := m.start("verify")
	if m.outcome() != before {
		m.t.Errorf("it changed something\n%s", out)
	}
	if strings.Contains(out, secret) {
		m.t.Errorf("it prints a secret\n%s", out)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	lines, last := lines[:len(lines)-1], lines[len(lines)-1]
	var got []string
	for _, line := range lines {
		path, _, _ := strings.Cut(line, ": ")
		got = append(got, path)
	}
	slices.Sort(got)
	slices.Sort(want)
	status, sum := 3, fmt.Sprintf("differences: %d", len(want))
	if len(want) == 0 {
		status, sum = 0, "no differences"
	}
	if code != status || last != sum || !slices.Equal(got, want) {
		m.t.Fatalf("exit status %d, want %d and\n%s\n%s", code, status, strings.Join(want, "\n"),
			out)
	}
}

// TestVerifyFindsNothing: a machine that nobody touched has no differences, whatever the hook and
// the kubelet have changed on it.
func TestVerifyFindsNothing(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range []struct {
			name, role string
			arrange    func(m *aMachine)
		}{
			{name: "worker", role: "worker"},
			{name: "machine of etcd", role: "etcd"},
			{name: "control plane", role: "control-plane"},
			{name: "control plane that joined etcd", role: "control-plane",
				arrange: func(m *aMachine) {
					m.peersKnow(idle, known2, known3)
					m.lists(1, listed2, listed3, listedIdle)
					m.lists(9, listed2, listed3, listedNew)
				}},
		} {
			if !isTurn(t, shell, i) {
				continue
			}
			m := newMachine(t, shell, row.role)
			if row.role == "etcd" {
				m.check = slices.DeleteFunc(m.check,
					func(s string) bool { return strings.HasPrefix(s, "port-6443|") })
			}
			if row.arrange != nil {
				row.arrange(m)
			}
			m.verifiable()
			m.wantDone()
			joined := strings.Contains(m.read(m.root+"/etc/kubernetes/manifests/etcd.yaml"),
				"existing")
			if joined != (row.arrange != nil) {
				t.Fatalf("%s: joined: %v", row.name, joined)
			}
			m.wantVerified()
			if row.role == "control-plane" {
				// The kubelet renews its certificate.
				current := m.root + "/var/lib/kubelet/pki/kubelet-client-current.pem"
				m.at("/var/lib/kubelet/pki/kubelet-client-2027.pem", secret)
				must(t, os.Remove(current))
				must(t, os.Symlink(m.root+"/var/lib/kubelet/pki/kubelet-client-2027.pem", current))
				m.wantVerified()
				m.wantDone()
				m.wantVerified()
			}
		}
	})
}

// TestVerifyBeforeTheEnd: what is removed at the end may be there before, and be gone.
func TestVerifyBeforeTheEnd(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.ofPool("-4")
		m.know("hostname", "pool-7\n")
		m.verifiable()
		m.rule("GET", "*/api/v1/nodes/*", 9999, 503, 0, "")
		m.data["step_timeout"] = "3"
		m.document()
		m.wantOverdue("FAULT node-not-registered ")
		m.wantVerified()
		must(t, os.Remove(m.root+bootstrap))
		m.wantVerified()
		must(t, os.Truncate(m.root+"/etc/kiln/files", 300))
		m.wantVerified("/etc/kiln/files", "/etc/kiln/files")
		must(t, os.Remove(m.root+"/etc/kiln/files"))
		m.wantVerified("/etc/kiln/files")
	})
}

// tampered lists what intruders, upgrades and accidents may do to a control plane, with the path
// that must be named then.
var tampered = []struct {
	path string
	do   func(m *aMachine, path string)
}{
	{"/etc/kubernetes/pki/ca.crt", (*aMachine).alter},
	{"/etc/with space.conf", (*aMachine).alter},
	{"/etc/kiln/boot", (*aMachine).alter},
	{"/etc/kiln/machine", (*aMachine).alter},
	{"/etc/kubernetes/manifests/etcd.yaml", (*aMachine).alter},
	{"/etc/systemd/system/kubelet.service", (*aMachine).alter},
	{"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf", (*aMachine).alter},
	{"/etc/kubernetes/kubelet.conf", func(m *aMachine, path string) {
		must(m.t, os.Chmod(m.root+path, 0o644))
	}},
	{"/etc/kiln/objects/token.yaml", func(m *aMachine, path string) {
		must(m.t, os.Chmod(m.root+path, 0o600|os.ModeSetuid))
	}},
	{"/etc/kubernetes/admin.conf", func(m *aMachine, path string) {
		must(m.t, os.Chown(m.root+path, 1234, 0))
	}},
	{"/etc/kubernetes/pki/apiserver-kubelet-client.key", func(m *aMachine, path string) {
		must(m.t, os.Remove(m.root+path))
	}},
	{"/etc/kiln/node.yaml", func(m *aMachine, path string) {
		must(m.t, os.Rename(m.root+path, m.root+"/etc/kept"))
		must(m.t, os.Symlink(m.root+"/etc/kept", m.root+path))
	}},
	{"/var/lib/cni", func(m *aMachine, path string) { must(m.t, os.Chmod(m.root+path, 0o777)) }},
	{"/var/log/kubernetes", func(m *aMachine, path string) {
		must(m.t, os.RemoveAll(m.root+path))
	}},
	{"/etc/systemd/system/multi-user.target.wants/kubelet.service", // systemctl disable
		func(m *aMachine, path string) { must(m.t, os.Remove(m.root+path)) }},
	{"/etc/systemd/system/multi-user.target.wants/kiln.service",
		func(m *aMachine, path string) {
			must(m.t, os.Remove(m.root+path))
			must(m.t, os.Symlink("/tmp/other.service", m.root+path))
		}},
	{"/etc/systemd/system/kiln-backup.timer", func(m *aMachine, path string) { // systemctl mask
		must(m.t, os.Remove(m.root+path))
		must(m.t, os.Symlink("/dev/null", m.root+path))
	}},
	{"/run/systemd/system/kiln.service.d/9.conf", func(m *aMachine, path string) {
		m.at(path, "x")
		m.know("show-kiln.service", "/etc/systemd/system/kiln.service\n\n"+path+"\n")
	}},
	{"/etc/systemd/system/kubelet.service.d/proxy.conf", // without systemctl daemon-reload
		func(m *aMachine, path string) { m.at(path, "x") }},
	{"/etc/systemd/system.control/kubelet.service", func(m *aMachine, path string) {
		m.know("show-kubelet.service", path+"\n\n\n")
	}},
	{"/etc/kubernetes/manifests/etcd.yaml~", func(m *aMachine, path string) { m.at(path, "x") }},
	{"/etc/kubernetes/manifests/miner", func(m *aMachine, path string) { m.at(path, "x") }},
	{"/etc/kubernetes/pki/install.key", func(m *aMachine, path string) { m.at(path, secret) }},
}

// alter adds a line to a file.
func (m *aMachine) alter(path string) {
	m.t.Helper()
	m.at(path, m.read(m.root+path)+"# "+secret+"\n")
}

// TestVerifyFindsAll: whatever was done to a machine is named, each thing alone and all together.
func TestVerifyFindsAll(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.verifiable()
		m.wantDone()
		m.wantVerified()
		var paths []string
		for _, row := range tampered {
			if row.path == "/etc/kubernetes/admin.conf" && os.Geteuid() != 0 {
				continue // nobody else can give files away
			}
			row.do(m, row.path)
			paths = append(paths, row.path)
			if isTurn(t, shell, len(paths)) {
				m.wantVerified(slices.Clone(paths)...)
			}
		}
		m.wantVerified(slices.Clone(paths)...)
		if len(paths) < 20 {
			t.Errorf("%d ways", len(paths))
		}
	})
}

// TestVerifyKnowsItsDocument: a list of files that was made to fit has another identity.
func TestVerifyKnowsItsDocument(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.verifiable()
		m.wantDone()
		const ca = "/etc/kubernetes/pki/ca.crt"
		was := sha256.Sum256([]byte(m.read(m.root + ca)))
		m.alter(ca)
		is := sha256.Sum256([]byte(m.read(m.root + ca)))
		list := m.read(m.root + "/etc/kiln/files")
		m.at("/etc/kiln/files", strings.Replace(list, fmt.Sprintf("%x", was[:8]),
			fmt.Sprintf("%x", is[:8]), 1))
		m.wantVerified("/etc/kiln/files")
	})
}

// TestVerifyIsHarmless: no name on the machine reaches the terminal as a command to it.
func TestVerifyIsHarmless(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.verifiable()
		m.wantDone()
		m.at("/etc/kubernetes/manifests/a\x1b[2J\nb\u00e9", "x")
		m.wantVerified("/etc/kubernetes/manifests/a?[2J b??")
	})
}
