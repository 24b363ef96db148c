package templates_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestBootRunsOnce(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		// A process that ended and left its lock.
		must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
		must(t, os.Symlink("4194305.1", m.root+"/run/kiln/lock"))
		m.wantDone()

		// Another process has its id now. It looks like a hook, but began at another time.
		foreign := exec.Command("sh", "-c", "sleep 60 & wait", "/etc/kiln/boot",
			"--bootstrap-kubeconfig=x")
		foreign.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(t, foreign.Start())
		defer func() { syscall.Kill(-foreign.Process.Pid, syscall.SIGKILL); foreign.Wait() }()
		for i, lock := range []string{"%d", "%d.", "%d.1"} {
			if !isTurn(t, shell, i) {
				continue
			}
			m = newMachine(t, shell, "worker")
			m.document()
			must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
			must(t, os.Symlink(fmt.Sprintf(lock, foreign.Process.Pid), m.root+"/run/kiln/lock"))
			m.wantDone()
		}

		m = newMachine(t, shell, "worker")
		m.document()
		hold := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-c", "sleep 60 & wait",
			m.root+"/etc/kiln/boot")...)
		hold.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(t, hold.Start())
		defer func() { syscall.Kill(-hold.Process.Pid, syscall.SIGKILL); hold.Wait() }()
		must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
		stat := m.read(fmt.Sprintf("/proc/%d/stat", hold.Process.Pid))
		began := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])[19]
		must(t, os.Symlink(fmt.Sprintf("%d.%s", hold.Process.Pid, began), m.root+"/run/kiln/lock"))
		out, code := m.run()
		if code != 0 || !strings.Contains(out, fmt.Sprintf("already-running as process %d\n",
			hold.Process.Pid)) || m.read(m.root+"/var/lib/kiln/state") != "" {
			t.Errorf("exit status %d\n%s", code, out)
		}
		if _, err := os.Readlink(m.root + "/run/kiln/lock"); err != nil {
			t.Error(err)
		}
	})
}

// TestBootEndsCleanly: after a SIGTERM at any point there is no fault and no lock, and the next
// start goes on.
func TestBootEndsCleanly(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i := range 6 {
			if !isTurn(t, shell, i) {
				continue
			}
			m := newMachine(t, shell, "control-plane")
			m.document()
			cmd := m.command()
			var out strings.Builder
			cmd.Stderr = &out
			must(t, cmd.Start())
			time.Sleep(time.Duration(20+i*40) * time.Millisecond)
			must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); strings.Contains(out.String(), "FAULT") ||
				code == 1 {
				t.Errorf("exit status %d\n%s", code, out.String())
			}
			if v := m.status(); cmd.ProcessState.ExitCode() == 143 && v.Phase != "stopped" &&
				v.Phase != "" {
				t.Errorf("phase %s", v.Phase)
			}
			if _, err := os.Lstat(m.root + "/run/kiln/lock"); err == nil &&
				cmd.ProcessState.ExitCode() == 143 {
				t.Error("the lock is still there")
			}
			m.wantDone()
		}
	})
}

// TestBootSurvivesKill kills the hook and everything that it started before its n-th command, and
// starts it again. The result must be that of an undisturbed run. make test kills it at some
// points, most of them under dash; with -all it is every point under every shell.
func TestBootSurvivesKill(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		most := mainShell(t)
		roles := map[string][]string{"bash": {"worker"}, "busybox": {"control-plane"}}[shell[0]]
		if *all || shell[0] == most {
			roles = []string{"control-plane", "worker", "pool"}
		}
		for _, role := range roles {
			make := func(t *testing.T) *aMachine {
				m := newMachine(t, shell, strings.Replace(role, "pool", "worker", 1))
				if role == "pool" {
					m.ofPool("-4")
					m.data["steps"] = "files machine preflight name kubelet node network retire"
					m.at("/proc/sys/kernel/hostname", "cp-1\n")
				}
				m.rule("GET", "*:10248/healthz", 2, 0, 7, "")
				m.rule("PATCH", "*/coredns*", 1, 409, 0, "")
				m.mortal()
				m.check = []string{m.check[1], m.check[14], m.check[len(m.check)-1]}
				m.document()
				return m
			}
			m := make(t)
			m.wantDone()
			want, calls := m.outcome(), m.calls()
			points := 1
			if shell[0] == most {
				points = 5
			}
			if *all {
				points = calls
			}
			for i := range points {
				at := (2*i + 1) * calls / (2 * points) // in the middle of as many equal parts
				m := make(t)
				m.killAt(at)
				if _, code := m.run(); code != -1 {
					t.Errorf("%s: not killed before command %d of %d", role, at, calls)
				}
				// Once more, at an earlier point: the second start may be killed too.
				m.killAt(at / 2)
				m.run()
				m.immortal()
				m.wantDone()
				if got := m.outcome(); got != want {
					t.Errorf("%s: killed before command %d of %d:\n%s", role, at, calls,
						diff(want, got))
				}
			}
			t.Logf("%s: %d of %d points", role, points, calls)
		}
	})
}

// diff returns the lines that only one of the two strings has.
func diff(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range w {
		if !slices.Contains(g, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range g {
		if !slices.Contains(w, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}
