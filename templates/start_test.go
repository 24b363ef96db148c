package templates_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

const kubeletCurrent = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// TestBootRetiresAgain: what was removed at the end of the first boot stays away. cloud-init may
// run again and write it once more, and makes copies of the whole document at every boot.
func TestBootRetiresAgain(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["retire"] += " /var/lib/kiln/body /var/lib/cloud/instances/*/user-data.txt*"
		copies := []string{"/var/lib/kiln/body", "/var/lib/cloud/instances/iid-1/user-data.txt",
			"/var/lib/cloud/instances/iid-2/user-data.txt.i"}
		const kept = "/var/lib/cloud/instances/iid-1/sem"
		again := func() {
			for _, path := range append(copies, "/etc/kubernetes/pki/install.crt",
				"/etc/kubernetes/pki/install.key", kept) {
				m.at(path, secret)
			}
		}
		again()
		m.document()
		for _, when := range []string{"first boot", "second run of cloud-init"} {
			m.wantDone()
			for _, path := range append(copies, "/etc/kubernetes/pki/install.crt",
				"/etc/kubernetes/pki/install.key") {
				if _, err := os.Lstat(m.root + path); err == nil {
					t.Errorf("%s: %s is still there", when, path)
				}
			}
			if m.read(m.root+kept) == "" {
				t.Errorf("%s: %s is gone", when, kept)
			}
			again()
		}
	})
}

// TestBootLetsCloudInitFinish: cloud-init reads its copies of the document until its last stage is
// over, so they are removed after it.
func TestBootLetsCloudInitFinish(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["retire"] = "/var/lib/cloud/instances/*/obj.pkl"
		m.at("/run/cloud-init/enabled", "")
		m.at("/var/lib/cloud/instances/iid-1/obj.pkl", secret)
		// cloud-init ends while it is waited for, for the fifth time.
		must(t, os.Remove(m.bin+"/sleep"))
		write(t, m.bin+"/sleep", `#!/bin/sh
[ "$1" != 1 ] || {
	[ -e "$KILN_ROOT/var/lib/cloud/instances/iid-1/obj.pkl" ] || echo early >"$WORLD/early"
	echo >>"$WORLD/slept"
	[ "$(wc -l <"$WORLD/slept")" -lt 5 ] || : >"$KILN_ROOT/run/cloud-init/result.json"
}
read -r up rest <"$KILN_ROOT/proc/uptime"
echo "$((${up%%.*} + 1)).00 $rest" >"$KILN_ROOT/proc/uptime"
`, 0o755)
		m.document()
		m.wantDone()
		if n := strings.Count(m.read(m.world+"/slept"), "\n"); n != 5 ||
			m.read(m.world+"/early") != "" {
			t.Errorf("it waited %d times", n)
		}
		if _, err := os.Lstat(m.root + "/var/lib/cloud/instances/iid-1/obj.pkl"); err == nil {
			t.Error("the copy is still there")
		}
		// A last stage that failed is not waited for.
		must(t, os.Remove(m.root+"/run/cloud-init/result.json"))
		must(t, os.Remove(m.world+"/slept"))
		m.at("/var/lib/cloud/instances/iid-1/obj.pkl", secret)
		m.know("active-cloud-final.service", "failed\n")
		m.wantDone()
		if waited := m.read(m.world + "/slept"); waited != "" {
			t.Errorf("it waited %d times for a stage that failed", len(waited))
		}
		must(t, os.Remove(m.world+"/active-cloud-final.service"))
		// One that never ends does not keep the machine from being done.
		must(t, os.Remove(m.bin+"/sleep"))
		must(t, os.Symlink("fakes/sleep", m.bin+"/sleep"))
		m.at("/var/lib/cloud/instances/iid-1/obj.pkl", secret)
		m.wantDone()
		if _, err := os.Lstat(m.root + "/var/lib/cloud/instances/iid-1/obj.pkl"); err == nil {
			t.Error("the copy is still there")
		}
	})
}

// TestBootReadsUnitsAgain: a drop-in may be written, or mended, when systemd has read the unit. A
// restart alone starts such a unit as it was, so systemd reads all units first.
func TestBootReadsUnitsAgain(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		m.wantDone()
		calls := m.read(m.world + "/systemctl")
		want := "daemon-reload\nrestart " + m.data["restart"] + "\n"
		if !strings.Contains(calls, want) {
			t.Errorf("calls of systemctl:\n%s\nwant %s", calls, want)
		}
	})
}

// TestBootRefusesOtherDocument: the kubelet does not start with what another document wrote,
// whoever starts it.
func TestBootRefusesOtherDocument(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		m.wantDone()
		if out, code := m.start("kubelet"); code != 0 {
			t.Errorf("exit status %d\n%s", code, out)
		}
		m.at("/etc/kubernetes/manifests/etcd.yaml", "another document's")
		m.document()
		if out, code := m.start("kubelet"); code != 1 ||
			!strings.Contains(out, "not started: another document") {
			t.Errorf("exit status %d\n%s", code, out)
		}
		m.wantFaults("FAULT document-changed /etc/kiln/files: this machine was made from ")
	})
}

// TestBootKeepsWall: no kubelet runs at the first boot before pods are kept from the metadata
// service. At every other, systemd sees to that.
func TestBootKeepsWall(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "3"
		other := func(line string) bool { return strings.HasPrefix(line, "runtime-active|") }
		m.check = append(slices.DeleteFunc(m.check, other),
			"metadata-wall|wait|equals active systemctl is-active kiln-wall.service|"+
				"see journalctl -u kiln-wall")
		m.know("active", "activating\n")
		m.document()
		m.wantOverdue("FAULT metadata-wall equals active systemctl is-active kiln-wall.service: " +
			"activating; see journalctl")
		if _, err := os.Stat(m.root + "/var/lib/kiln/kubelet-allowed"); err == nil {
			t.Error("the kubelet may start")
		}
		m.know("active", "active\n")
		m.wantDone()
	})
}

// TestBootMovesIdentitiesAside: what an earlier life of the disk left is not taken for this
// machine's, and is not lost.
func TestBootMovesIdentitiesAside(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		// A machine that has its certificate: the link of an old one, or a file in its place.
		for _, file := range []bool{false, true} {
			m := newMachine(t, shell, "control-plane")
			must(t, os.MkdirAll(filepath.Dir(m.root+kubeletCurrent), 0o700))
			if file {
				m.at(kubeletCurrent, "old")
			} else {
				must(t, os.Symlink("kubelet-client-2025.pem", m.root+kubeletCurrent))
			}
			m.document()
			out := m.wantDone()
			if link, _ := os.Readlink(m.root + kubeletCurrent); link != "kubelet-client-2026.pem" ||
				!strings.Contains(out, "moving aside "+kubeletCurrent) {
				t.Errorf("link to %s\n%s", link, out)
			}
			if _, err := os.Lstat(m.root + kubeletCurrent + ".kiln-old"); err != nil {
				t.Error(err)
			}
		}
		// A machine of a pool asks for its certificate and has none yet.
		m := newMachine(t, shell, "worker")
		m.ofPool("-4")
		m.know("hostname", "pool-7\n")
		m.kinds = []string{"none - - /etc/kubernetes/kubelet.conf", "none - - " + kubeletCurrent}
		m.document()
		m.at("/etc/kubernetes/kubelet.conf", "old")
		m.at(kubeletCurrent, "old")
		m.wantDone()
		for _, path := range []string{"/etc/kubernetes/kubelet.conf", kubeletCurrent} {
			if now, old := m.read(m.root+path), m.read(m.root+path+".kiln-old"); now == "old" ||
				old != "old" {
				t.Errorf("%s: %q, and aside %q", path, now, old)
			}
		}
		// The kubelet's own, once it has them, stay.
		m.wantDone()
		if m.read(m.root+kubeletCurrent) != "pem\n" {
			t.Error("its certificate is gone")
		}
	})
}

// TestBootNeedsFewPrograms: a machine with these programs alone is finished. docs/first-cluster.md
// lists them.
func TestBootNeedsFewPrograms(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		bin := m.world + "/only"
		must(t, os.Mkdir(bin, 0o700))
		for _, name := range strings.Fields("cat chmod chown cut date head id ln ls mkdir mv " +
			"nproc readlink rm sed sha256sum sleep sort stat sync tail timeout touch tr " +
			"uname flock curl ip kubelet systemctl") {
			path := m.bin + "/" + name
			if _, err := os.Stat(path); err != nil {
				path = need.Basic(t, name)
			}
			must(t, os.Symlink(path, bin+"/"+name))
		}
		cmd := m.command()
		cmd.Path, cmd.Env = need.Basic(t, shell[0]), append(slices.DeleteFunc(cmd.Env,
			func(s string) bool { return strings.HasPrefix(s, "PATH=") }), "PATH="+bin)
		out, err := cmd.CombinedOutput()
		if err != nil || m.status().Phase != "done" ||
			strings.Contains(string(out), "not found") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// TestBootNamesFullFolders: a folder that takes no more is named, and is no mistake of the hook's.
func TestBootNamesFullFolders(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
		must(t, os.Symlink("/dev/full", m.root+"/run/kiln/.kiln"))
		must(t, os.Symlink("/nowhere/lock", m.root+"/run/kiln/lock"))
		m.wantFaults("FAULT unwritable " + m.root + "/run/kiln: full, or it cannot be written; " +
			"make room there")

		m = newMachine(t, shell, "control-plane")
		m.data["step_timeout"], m.check = "3", m.check[:1]
		m.document()
		must(t, os.Symlink("/dev/full", m.root+"/var/lib/etcd/.kiln"))
		must(t, os.Mkdir(m.root+"/var/lib/etcd/kiln.new", 0o700)) // cat cannot write there
		m.wantFaults("FAULT unwritable " + m.root + "/var/lib/etcd: full, or it cannot be " +
			"written; make room there")
	})
}

// TestBootFollowsNoLinks: etcd's folder is another user's, and what lies there is no way to write
// or to show the files of root.
func TestBootFollowsNoLinks(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.at("/etc/shadow", secret)
		m.check = m.check[:1]
		m.document()
		must(t, os.Symlink(m.root+"/etc/shadow", m.root+"/var/lib/etcd/kiln.new"))
		m.wantDone()
		if m.read(m.root+"/etc/shadow") != secret {
			t.Error("it was written over")
		}

		m = newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "3"
		m.at("/etc/shadow", secret)
		m.check = m.check[:1]
		m.document()
		must(t, os.MkdirAll(m.root+"/var/lib/etcd/member", 0o700))
		must(t, os.Symlink(m.root+"/etc/shadow", m.root+"/var/lib/etcd/kiln"))
		m.wantFaults(
			"FAULT etcd-foreign /var/lib/etcd: its data is of: somebody who left no name; ")
	})
}

// TestBootSaysWhereNameLeads: a name server may say anything, and then it helps to read what it
// said.
func TestBootSaysWhereNameLeads(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.hold(templates.IfNamed)
		m.data["step_timeout"], m.data["api"] = "3", "https://api.test:6443"
		m.rule("GET", "*/nodes/*", 9999, 0, 7, "")
		write(t, m.bin+"/getent", "#!/bin/sh\n[ \"$*\" = 'ahosts api.test' ] && echo '10.9.9.9 "+
			"STREAM api.test'\n", 0o755)
		m.document()
		m.wantOverdue("FAULT api-endpoint https://api.test:6443/api/v1/nodes/cp-1: curl: " +
			"(7) as the rule says; it leads to 10.9.9.9; see that this leads to the cluster")
	})
}
