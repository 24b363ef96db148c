package templates_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBootRunsOnce: while one hook runs, a second one does nothing. The lock of a process that has
// ended is free, and a system without flock has none.
func TestBootRunsOnce(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
		lock, err := os.Create(m.root + "/run/kiln/lock")
		must(t, err)
		must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
		out, code := m.run()
		require.Zero(t, code, out)
		require.Contains(t, out, "start: already-running\n")
		require.Empty(t, m.read(m.root+"/var/lib/kiln/state"), out)
		must(t, lock.Close())
		m.wantDone()

		m = newMachine(t, shell, "worker")
		m.document()
		write(t, m.bin+"/flock", "#!/bin/sh\nexit 127\n", 0o755)
		m.wantDone()
	})
}

// TestBootEndsCleanly: after a SIGTERM at any point there is no fault, and the next start goes on.
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
			require.NotContains(t, out.String(), "FAULT")
			require.NotEqual(t, 1, cmd.ProcessState.ExitCode())
			if v := m.status(); cmd.ProcessState.ExitCode() == 143 && v.Phase != "stopped" &&
				v.Phase != "" && v.Phase != "done" { // the signal may come after its last word
				t.Errorf("phase %s", v.Phase)
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
					m.data["steps"] = "files machine preflight name kubelet node network"
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
				points = 2
			}
			if *all {
				points = calls
			}
			for i := range points {
				at := (2*i + 1) * calls / (2 * points) // in the middle of as many equal parts
				m := make(t)
				m.killAt(at)
				_, code := m.run()
				require.Equal(t, -1, code, "%v: %v %v", role, at, calls)
				// Once more, at an earlier point: the second start may be killed too.
				m.killAt(at / 2)
				m.run()
				m.immortal()
				m.wantDone()
				require.Equal(t, want, m.outcome(), "%v: %v %v", role, at, calls)
			}
			t.Logf("%s: %d of %d points", role, points, calls)
		}
	})
}
