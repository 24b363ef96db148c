package templates_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// run starts the hook and returns its output and exit status (-1: killed). The verdict must always
// parse.
func (m *aMachine) run() (string, int) {
	m.t.Helper()
	out, code := m.start()
	m.status()
	return out, code
}

func (m *aMachine) command(arguments ...string) *exec.Cmd {
	cmd := exec.Command(m.shell[0], append(slices.Concat(m.shell[1:],
		[]string{m.root + "/etc/kiln/boot"}), arguments...)...)
	cmd.Dir = m.world
	rest := m.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
	cmd.Env = []string{"PATH=" + m.world + "/kill:" + rest, "REST=" + rest, "KILN_ROOT=" + m.root,
		"WORLD=" + m.world,
		"http_proxy=http://proxy.invalid", "https_proxy=http://proxy.invalid"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start starts the hook, with a verb if there is one, and does not read the verdict.
func (m *aMachine) start(arguments ...string) (string, int) {
	m.t.Helper()
	cmd := m.command(arguments...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 20 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	require.False(m.t, err != nil && !errors.As(err, &exit), err)
	return out.String(), cmd.ProcessState.ExitCode()
}

// status reads status.json strictly. Without the file it returns the zero verdict.
func (m *aMachine) status() verdict {
	m.t.Helper()
	var v verdict
	text, err := os.ReadFile(m.root + "/var/lib/kiln/status.json")
	if errors.Is(err, fs.ErrNotExist) {
		return v
	}
	must(m.t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(m.t, d.Decode(&v), string(text))
	require.Contains(m.t, []string{"running", "waiting", "stopped", "done"}, v.Phase, text)
	require.NotNil(m.t, v.Faults, string(text))
	return v
}

func (m *aMachine) read(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(m.t, err)
	return string(content)
}

// wantMended runs the hook, which must finish the machine, whatever it reports before.
func (m *aMachine) wantMended() string {
	m.t.Helper()
	out, code := m.run()
	require.Zero(m.t, code, out)
	v := m.status()
	require.Equal(m.t, "done", v.Phase, out)
	require.Empty(m.t, v.Faults, out)
	require.False(m.t, m.remains("/etc/issue.d/kiln.issue"), "a fault is at the login prompt")
	return out
}

// wantDone runs the hook, which must finish the machine without a fault.
func (m *aMachine) wantDone() string {
	m.t.Helper()
	out := m.wantMended()
	require.NotContains(m.t, out, "FAULT")
	require.NotContains(m.t, out, secret)
	return out
}

// wantFaults runs the hook, which must stop with exactly these faults ("FAULT code object:
// evidence", in their order), and report them in all four places.
func (m *aMachine) wantFaults(want ...string) string {
	m.t.Helper()
	return m.wantReport("stopped", 1, want)
}

// wantOverdue runs the hook, which must report exactly these faults as wantFaults and go on trying.
// It is killed then.
func (m *aMachine) wantOverdue(want ...string) string {
	m.t.Helper()
	return m.wantReport("waiting", -1, want)
}

// wantDoneBut runs the hook, which must be done, report exactly these faults and go on trying. It
// is killed then.
func (m *aMachine) wantDoneBut(want ...string) string {
	m.t.Helper()
	return m.wantReport("done", -1, want)
}

// wantFault runs the hook, which must report that fault and either go on trying or stop.
func (m *aMachine) wantFault(want string, waits bool) string {
	m.t.Helper()
	if waits {
		return m.wantOverdue(want)
	}
	return m.wantFaults(want)
}

// wantReport runs the hook, which must report exactly these faults in that phase and end with that
// status.
func (m *aMachine) wantReport(phase string, status int, want []string) string {
	m.t.Helper()
	out, code := m.run()
	var got []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "FAULT ") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	require.Equal(m.t, status, code, out)
	require.Len(m.t, got, len(want), out)
	v := m.status()
	require.Equal(m.t, phase, v.Phase, v)
	require.Len(m.t, v.Faults, len(want), v)
	for i := range want {
		require.True(m.t, strings.HasPrefix(got[i], want[i]), "fault %d: %s\nwant %s", i, got[i],
			want[i])
		require.Equal(m.t, phase != "stopped",
			strings.HasSuffix(got[i], "; then it goes on by itself"), got[i])
		f := v.Faults[i]
		require.Equal(m.t, got[i], fmt.Sprintf("FAULT %s %s: %s; %s", f.Code, f.Object, f.Evidence,
			f.Remedy))
		require.NotEmpty(m.t, f.Remedy)
	}
	all := strings.Join(got, "\n") + "\n"
	require.Equal(m.t, all, m.read(m.root+"/etc/issue.d/kiln.issue"))
	require.NotContains(m.t, out, secret, "a secret is in the output")
	return out
}

// outcome returns the files of the machine and the objects of the API server, which must be equal
// after two runs.
func (m *aMachine) outcome() string {
	m.t.Helper()
	var b strings.Builder
	for _, dir := range []string{m.root, m.world + "/api"} {
		must(m.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(path, dir)
			if err != nil || strings.HasPrefix(name, "/run/kiln") || name == "/proc/uptime" {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %s ", info.Mode(), name)
			if info.Mode().IsRegular() {
				fmt.Fprintf(&b, "%q", seconds.ReplaceAllString(m.read(path), "${1}N"))
			}
			b.WriteString("\n")
			return nil
		}))
	}
	applied := strings.Fields(m.read(m.world + "/applied"))
	sort.Strings(applied)
	fmt.Fprintln(&b, slices.Compact(applied))
	return b.String()
}

// kept returns the part of outcome that belongs to the document, to Kubernetes and to etcd. A hook
// that stops before the kubelet's start does not change these files; it may make folders and links
// of the document.
func (m *aMachine) kept() string {
	m.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(m.outcome()) {
		_, name, _ := strings.Cut(line, " ")
		for _, path := range []string{"/etc/kiln", "/etc/kubernetes", "/etc/with", "/var/lib/etcd",
			"/var/lib/kubelet", "/api"} {
			if strings.HasPrefix(line, "-") && strings.HasPrefix(name, path) {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// mortal makes every command of the hook a point where the hook can be killed. tr, which is half of
// the commands and writes no file, is one with -all alone.
func (m *aMachine) mortal() {
	m.t.Helper()
	names := "sync sleep date nproc ip systemctl curl cat mv rm mkdir ln chmod chown sha256sum " +
		"readlink stat ls head tail sort"
	if *all {
		names += " tr"
	}
	m.forgetCalls()
	write(m.t, m.world+"/kill/killer", killer, 0o755)
	for _, name := range strings.Fields(names) {
		must(m.t, os.Symlink("killer", m.world+"/kill/"+name))
	}
}

func (m *aMachine) killAt(n int) {
	m.t.Helper()
	m.forgetCalls()
	m.know("kill-at", strconv.Itoa(n)+"\n")
}

func (m *aMachine) immortal() { m.t.Helper(); must(m.t, os.RemoveAll(m.world+"/kill-at")) }

func (m *aMachine) forgetCalls() {
	m.t.Helper()
	must(m.t, os.RemoveAll(m.world+"/calls"))
	must(m.t, os.RemoveAll(m.world+"/next"))
	must(m.t, os.Mkdir(m.world+"/calls", 0o755))
}

func (m *aMachine) calls() int {
	m.t.Helper()
	made, err := os.ReadDir(m.world + "/calls")
	must(m.t, err)
	return len(made)
}
