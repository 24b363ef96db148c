package templates_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
)

// TestBootIsInert: no value is ever run as a program.
func TestBootIsInert(t *testing.T) {
	evil := []string{
		"$(touch pwned)", "`touch pwned`", "';touch pwned;'", `"; touch pwned; "`,
		"a[$(touch pwned)]", "-n", "--help", "%s%n%p",
		`\n\033[2J\`, "line\nFAULT forged x: y; z", "*", "~root", "${root}", "\x1b]0;x\a\x9b2J",
		"é\u009b", "&& touch pwned", "> pwned",
	}
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, value := range evil {
			if !isTurn(t, shell, i) {
				continue
			}
			m := newMachine(t, shell, []string{"control-plane", "worker"}[i%2])
			m.data["step_timeout"] = "3"
			m.data["extra"] = value
			for name := range m.data {
				// Each run has one more hostile value, whose index is given; the run may end in a
				// fault.
				if name != "role" && name != "step_timeout" && (len(name)+i)%3 == 0 {
					m.data[name] = value
				}
			}
			if i%4 == 3 {
				m.data["step_timeout"], m.data["credential_end"] = value, value
			}
			word := strings.NewReplacer("|", "", "\n", "").Replace(value)
			m.check = append(m.check, word+"|stop|exist "+word+"|"+word,
				"e|warn|at_least "+strings.ReplaceAll(word, " ", "")+" nproc|"+word,
				"f|stop|sysctls "+word+"="+word+"|x")
			m.document()
			out, code := m.run()
			require.False(t, code != 0 && code != 1, "%q: exit status %d\n%s", value, code, out)
			require.False(t, regexp.MustCompile("(?m)^FAULT forged").MatchString(out),
				"%q: a forged line:\n%s", value, out)
			for _, dir := range []string{m.root, m.world} {
				must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
					if strings.HasSuffix(path, "pwned") {
						t.Errorf("%q: it ran", value)
					}
					return err
				}))
			}
			for _, text := range []string{m.read(m.root + "/etc/issue.d/kiln.issue"),
				m.read(m.root + "/var/lib/kiln/status.json")} {
				require.False(t, regexp.MustCompile(`[^\n -~]|\\`).MatchString(text),
					"%q: not plain: %q", value, text)
			}
		}
	})
}

// TestBootDespiteDeadEnds: a machine is finished even if its faults and status can be reported
// nowhere.
func TestBootDespiteDeadEnds(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		must(t, err)
		defer full.Close()
		for _, wrong := range []bool{false, true} {
			m := newMachine(t, shell, "worker")
			m.at("/etc/issue.d", "a file") // not a folder
			m.document()
			code, phase := 0, "done"
			if wrong {
				m.know("cpus", "1\n")
				code, phase = 1, "stopped"
			}
			cmd := m.command()
			cmd.Stdout, cmd.Stderr = full, full
			cmd.Run()
			require.Equal(t, code, cmd.ProcessState.ExitCode())
			require.Equal(t, phase, m.status().Phase)
		}
		// Without a state no step can be recorded: the hook says so.
		m := newMachine(t, shell, "worker")
		m.document()
		must(t, os.Symlink("/dev/full", m.root+"/var/lib/kiln"))
		if out, code := m.start(); code != 1 || !strings.Contains(out, "FAULT unwritable ") {
			t.Errorf("exit status %d\n%s", code, out)
		}
		// Without a lock the hook does not start.
		m = newMachine(t, shell, "worker")
		m.document()
		must(t, os.MkdirAll(m.root+"/run/kiln/lock", 0o700))
		if out, code := m.start(); code != 1 || !strings.Contains(out, "FAULT hook start: ") {
			t.Errorf("exit status %d\n%s", code, out)
		}
	})
}

// TestBootCutOff: a hook whose end is missing never counts as done.
func TestBootCutOff(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		lines := strings.SplitAfter(templates.Boot(m.holds), "\n")
		for n := len(lines) - 2; n > 10; n -= 7 {
			if !isTurn(t, shell, n) {
				continue
			}
			m.at("/etc/kiln/boot", strings.Join(lines[:n], ""))
			out, code := m.start()
			require.NotZero(t, code, "%v: %v", n, out)
		}
	})
}

// TestBootKnowsItsMachine: a machine with the copied disk of another does not join the cluster, and
// its kubelet never starts.
func TestBootKnowsItsMachine(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.at("/sys/class/dmi/id/product_uuid", "4c4c4544-0042-3510-8054-b7c04f4e3232\n")
		m.document()
		_, code := m.start("kubelet")
		require.Equal(t, 1, code)
		m.wantDone()
		m.at("/proc/sys/kernel/hostname", "dhcp-17\n")
		out, code := m.start("kubelet")
		require.Zero(t, code, out)
		require.Empty(t, out)
		require.Equal(t, "cp-1\n", m.read(m.root+"/proc/sys/kernel/hostname"), out)
		m.at("/sys/class/dmi/id/product_uuid", "0de0a7d2-1a5e-4c52-9a3e-7f3a2c1b0d99\n")
		m.wantFaults("FAULT cloned /etc/machine-id: the disk is that of " +
			"6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1 4c4c4544-0042-3510-8054-b7c04f4e3232, this is 6a1f")
		out, code = m.start("kubelet")
		require.Equal(t, 1, code, out)
		require.Contains(t, out, "copy of another machine")
	})
}

// TestBootAllowsKubeletAgain: a machine that was stopped after its kubelet had started lets it
// start again, also after a reboot.
func TestBootAllowsKubeletAgain(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "1"
		m.rule("GET", "*/nodes/*", 99, 404, 0, "{}")
		m.document()
		m.wantOverdue("FAULT node-not-registered ")
		m.at("/var/lib/kiln/starts", "20\n")
		m.wantFaults(
			"FAULT no-progress /var/lib/kiln/state: 21 starts since the last step was done; ")
		must(t, os.RemoveAll(m.world+"/rules"))
		m.wantDone()
		require.True(t, m.remains("/var/lib/kiln/kubelet-allowed"),
			"the kubelet may never start again: ")
	})
}

// TestBootForgetsVerdicts: a machine that is done, and was stopped because of another document, is
// done again when its own document is back.
func TestBootForgetsVerdicts(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		m.wantDone()
		own := m.read(m.root + "/etc/kiln/files")
		m.at("/etc/kiln/files", "end\n")
		m.wantFaults("FAULT document-changed /etc/kiln/files: ")
		m.at("/etc/kiln/files", own)
		m.wantDone()
		require.NotEmpty(t, m.status().Node)
		require.Empty(t, m.read(m.root+"/etc/issue.d/kiln.issue"))
	})
}

// TestBootStopsLoops: a machine that starts again and again without progress is stopped, and its
// kubelet may not start. A restart by a person gives it as many starts again.
func TestBootStopsLoops(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "1"
		m.know("no-kubelet", "")
		m.document()
		m.wantOverdue("FAULT kubelet-unhealthy ")
		m.at("/var/lib/kiln/starts", "20\n")
		m.wantFaults(
			"FAULT no-progress /var/lib/kiln/state: 21 starts since the last step was done; ")
		require.False(t, m.remains("/var/lib/kiln/kubelet-allowed"), "the kubelet may still start")
		must(t, os.Remove(m.world+"/no-kubelet"))
		m.wantDone()
		require.Empty(t, m.read(m.root+"/var/lib/kiln/starts"))
	})
}
