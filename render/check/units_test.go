package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestUnitProblem: systemd refuses the units that kiln refuses, and no others.
func TestUnitProblem(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	const start = "[Service]\nExecStart=/bin/true\n"
	for _, row := range []struct{ name, text, want string }{
		{"a.service", start, ""},
		{"a.service", "[Service]\nType=oneshot\n" + start + "ExecStart=/bin/true\n", ""},
		{"a.service", "[Service]\nExecStop=/bin/true\nRemainAfterExit=yes\n", ""},
		{"a.service", start + "[Service]\nExecStart=\nExecStart=/bin/true\n", ""},
		{"a.service", "[Service]\nExecStart=/bin/true \\\n  ExecStart=2\n", ""},
		{"a.service", "[Service]\nType=dbus\nBusName=org.example\nExecStart=/bin/true\n", ""},
		{"a.service", "[Unit]\nSuccessAction=reboot\n[Service]\nType=oneshot\n", ""},
		{"a.service", "[Service]\nType=oneshot\nRestart=on-failure\n" + start, ""},
		{"a.service", start + "ExecStart=/bin/false\n", "has ExecStart 2 times"},
		{"a.service", start + "[Service]\nExecStart=/bin/false\n", "has ExecStart 2 times"},
		{"a.service", "[Service]\nType=notify\n", "without a command"},
		{"a.service", "[service]\nExecStart=/bin/true\n", "without a command"},
		{"a.service", "[Unit]\nDescription=a\n", "without a command"},
		{"a.service", start + "ExecStart=\n", "without a command"},
		{"a.service", "[Service]\nType=oneshot\nRestart=always\n" + start, "Restart=always"},
		{"a.service", "[Service]\nType=dbus\n" + start, "BusName"},
		{"data.mount", "[Mount]\nWhat=/dev/vdb\nWhere=/data\n", ""},
		{"data.mount", "[Mount]\nWhat=/dev/vdb\nWhere=/data/\n", ""},
		{"data.mount", "[Mount]\nWhat=/dev/vdb\n", ""},
		{"data-logs.mount", "[Mount]\nWhat=/dev/vdb\nWhere=/data/logs\n", ""},
		{`data\x2dlogs.mount`, "[Mount]\nWhat=/dev/vdb\nWhere=/data-logs\n", ""},
		{"data-logs.mount", "[Mount]\nWhat=/dev/vdb\nWhere=/data-logs\n", "is for /data/logs;"},
		{"var-lib-etcd.mount", "[Mount]\nWhat=/dev/vdb\nWhere=/data\n", "is for /var/lib/etcd;"},
		{"data.mount", "[Mount]\nWhere=/data\n", "does not say What,"},
		{"data.automount", "[Automount]\nWhere=/data\n", ""},
		{"data.automount", "[Automount]\nWhere=/logs\n", "is for /data;"},
		{"swapfile.swap", "[Swap]\nWhat=/swapfile\n", ""},
		{"swapfile.swap", "[Swap]\nPriority=1\n", ""},
		{"swapfile.swap", "[Swap]\nWhat=/swap\n", "is for /swapfile;"},
		{"a.timer", "[Timer]\nOnBootSec=1h\n", ""},
		{"a.timer", "[Timer]\nOnClockChange=yes\n", ""},
		{"a.timer", "[Timer]\nPersistent=true\n", "does not say a time"},
		{"a.path", "[Path]\nPathExists=/a\n", ""},
		{"a.path", "[Path]\nUnit=b.service\n", "does not say what it waits for"},
		{"a.socket", "[Socket]\nListenStream=8080\n", ""},
		{"a.socket", "[Socket]\nAccept=no\n", "does not say where it listens"},
		{"a.target", "[Unit]\nDescription=a\n", ""},
	} {
		t.Run(row.name+" "+row.want, func(t *testing.T) {
			t.Parallel()
			problem := unitProblem(row.name, row.text)
			if row.want == "" {
				assert.Empty(t, problem)
			}
			assert.Contains(t, problem, row.want)

			dir := t.TempDir()
			write := func(name, text string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			write("a.service", start) // what a.timer, a.path and a.socket start
			write("b.service", start)
			write(row.name, row.text)
			for _, target := range []string{"sysinit", "basic", "shutdown", "umount", "sockets",
				"timers", "paths", "local-fs", "swap", "local-fs-pre"} {
				write(target+".target", "[Unit]\nDefaultDependencies=no\n")
			}
			cmd := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, row.name))
			cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir, "SYSTEMD_LOG_COLOR=0")
			out, _ := cmd.CombinedOutput()
			refused := strings.Contains(string(out), "Refusing.") ||
				strings.Contains(string(out), "not loading.")
			assert.Equal(t, problem != "", refused, "%s", out)
		})
	}
}
