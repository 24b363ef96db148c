package templates_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
				require.False(t, m.remains(path), "%s: %s is still there", when, path)
			}
			require.NotEmpty(t, m.read(m.root+kept), when)
			again()
		}
	})
}

// TestBootLetsCloudInitFinish: cloud-init reads its copies of the document until its last stage is
// over, so they are removed after it, and also where it failed. Where cloud-init is off it is not
// asked.
func TestBootLetsCloudInitFinish(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["retire"] = "/var/lib/cloud/instances/*/obj.pkl"
		const kept = "/var/lib/cloud/instances/iid-1/obj.pkl"
		m.document()
		for _, row := range []struct {
			enabled bool
			ends    string
		}{
			{true, "[ -e \"$KILN_ROOT" + kept + "\" ] || echo early >>\"$WORLD/cloud-init\""},
			{true, "exit 1"},
			{false, "exit 1"},
		} {
			m.at(kept, secret)
			must(t, os.RemoveAll(m.root+"/run/cloud-init"))
			want := ""
			if row.enabled {
				m.at("/run/cloud-init/enabled", "")
				want = "status --wait\n"
			}
			m.know("cloud-init", "")
			m.know("cloud-init-ends", row.ends)
			m.wantDone()
			require.Equal(t, want, m.read(m.world+"/cloud-init"))
			require.False(t, m.remains(kept), "the copy is still there")
		}
	})
}

// TestBootLooksAgain: at each later boot the hook asks again for what changes. What is wrong is a
// fault of a machine that stays done, in all places and on the Node, until it is cured. It asks
// nobody over the network.
func TestBootLooksAgain(t *testing.T) {
	const enough = "cp-1 is part of its cluster\n"
	for i, row := range []struct {
		name  string
		wrong func(m *aMachine)
		want  string
		mend  string
	}{
		{name: "swap", wrong: func(m *aMachine) { m.at("/proc/swaps", "Filename\n/dev/sdb 1\n") },
			want: "FAULT swap swap_off: /dev/sdb 1; switch swap off",
			mend: `echo Filename >"$KILN_ROOT/proc/swaps"`},
		{name: "address", wrong: func(m *aMachine) { m.know("address", "") },
			want: "FAULT address addresses 10.0.0.11: missing: 10.0.0.11; has ",
			mend: `echo 2: eth0 inet 10.0.0.11/24 scope global eth0 >"$WORLD/address"`},
		{name: "certificate", wrong: func(m *aMachine) { m.know("clock", "1830000009\n") },
			want: "FAULT cert-expired at_most 1830000000 date +%s: 18300000",
			mend: `echo 1829990000 >"$WORLD/clock"`},
		{name: "mount", wrong: func(m *aMachine) { m.at("/proc/mounts", "/dev/vda / ext4\n") },
			want: "FAULT mount mounts /data: missing: /data; see to it",
			mend: `echo /dev/vdb /data ext4 rw 0 0 >"$KILN_ROOT/proc/mounts"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				m.at("/proc/mounts", "/dev/vdb /data ext4 rw 0 0\n")
				m.check = append(m.check, "mount|stop|mounts /data|see to it")
				m.document()
				m.wantDone()
				started := m.read(m.world + "/systemctl")

				row.wrong(m)
				must(t, os.Remove(m.world+"/curl"))
				before, _, _ := strings.Cut(m.read(m.root+"/proc/uptime"), ".")
				m.wantDoneBut(row.want)
				// It looks for a minute, and the test ends with the first rest, of another one.
				after, _, _ := strings.Cut(m.read(m.root+"/proc/uptime"), ".")
				from, _ := strconv.Atoi(before)
				if to, _ := strconv.Atoi(after); to < from+60 || to > from+125 {
					t.Errorf("it took from %s to %s", before, after)
				}
				for line := range strings.Lines(m.read(m.world + "/curl")) {
					require.Regexp(t, "/var/|/nodes/cp-1", line)
				}
				require.Equal(t, started, m.read(m.world+"/systemctl"))
				code := strings.Fields(row.want)[1]
				require.Contains(t, m.marks()[len(m.marks())-1], "done done "+code+" ")

				m.know("meanwhile", row.mend)
				out := m.wantMended()
				require.Empty(t, m.status().Waiting)
				require.Contains(t, out, enough)
				require.Contains(t, out, "done: it has come: this machine\n")
			})
		})
	}
}

// TestBootRefusesOtherDocument: the kubelet does not start with what another document wrote,
// whoever starts it.
func TestBootRefusesOtherDocument(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		m.wantDone()
		out, code := m.start("kubelet")
		require.Zero(t, code, out)
		m.at("/etc/kubernetes/manifests/etcd.yaml", "another document's")
		m.document()
		out, code = m.start("kubelet")
		require.Equal(t, 1, code, out)
		require.Contains(t, out, "not started: another document")
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
		require.False(t, m.remains("/var/lib/kiln/kubelet-allowed"), "the kubelet may start")
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
			link, _ := os.Readlink(m.root + kubeletCurrent)
			require.Equal(t, "kubelet-client-2026.pem", link, out)
			require.Contains(t, out, "moving aside "+kubeletCurrent)
			require.True(t, m.remains(kubeletCurrent+".kiln-old"))
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
			now, old := m.read(m.root+path), m.read(m.root+path+".kiln-old")
			require.NotEqual(t, "old", now, path)
			require.Equal(t, "old", old, path)
		}
		// The kubelet's own, once it has them, stay.
		m.wantDone()
		require.Equal(t, "pem\n", m.read(m.root+kubeletCurrent), "its certificate is gone")
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
		require.NoError(t, err, string(out))
		require.Equal(t, "done", m.status().Phase, out)
		require.NotContains(t, string(out), "not found", out)
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
		require.Equal(t, secret, m.read(m.root+"/etc/shadow"), "it was written over")

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

// TestBootPutsBack: what kiln apply left halfway is put back before anything else, by the program
// that it left, and the hook goes on with the older document. While a change is at work, nothing is
// put back. Where that fails the machine stops, and says so.
func TestBootPutsBack(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		m.wantDone()
		const change = "/var/lib/kiln/before/change"
		older := m.read(m.root + "/etc/kiln/files")
		halfway := func(program string) {
			m.at(change, program)
			m.at("/etc/kiln/files", "of the newer document\n")
		}
		halfway("[ \"$1\" = undo ] || exit\necho undone >>\"$WORLD/undone\"\n" +
			"printf %s " + quoted(older) + " >\"$KILN_ROOT/etc/kiln/files\"\n" +
			"rm -r \"$KILN_ROOT/var/lib/kiln/before\"\n")
		m.wantDone()
		require.Equal(t, "undone\n", m.read(m.world+"/undone"))
		out, code := m.start("kubelet")
		require.Zero(t, code, out)

		m.at(change, "echo again >>\"$WORLD/undone\"\n")
		m.at("/run/kiln/applying", "")
		m.wantDone()
		out, code = m.start("kubelet")
		require.Zero(t, code, out)
		require.Equal(t, "undone\n", m.read(m.world+"/undone"))

		must(t, os.Remove(m.root+"/run/kiln/applying"))
		m.at(change, "exit 1\n")
		m.wantFaults("FAULT unwritable " + m.root + "/var/lib/kiln/before: ")
	})
}
