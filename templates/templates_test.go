package templates_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kiln/templates"
)

func TestScriptsAreStripped(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"boot": templates.Boot, "keep-routes": templates.Routes} {
		lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
		if lines[0] != "#!/bin/sh" || !strings.HasPrefix(lines[1], "# kiln") {
			t.Errorf("%s begins with %q", name, lines[:2])
		}
		comments := 0
		for _, line := range lines {
			if line = strings.TrimSpace(line); line == "" {
				t.Errorf("%s has an empty line", name)
			} else if line[0] == '#' {
				comments++
			}
		}
		if comments > 4 || len(script) > 13000 {
			t.Errorf("%s: %d comments, %d bytes", name, comments, len(script))
		}
		// Once to be read by people, once as it is: it must be the same script.
		source, err := os.ReadFile("boot/" + name)
		must(t, err)
		if !strings.HasSuffix(string(source), lines[len(lines)-1]+"\n") {
			t.Errorf("%s: another end", name)
		}
	}
}

func TestKubeletDropIn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		node, program string
		flags         []string
		want          string
	}{
		{"", "/usr/bin/kubelet", nil, "ExecStart=\nExecStart=/usr/bin/kubelet"},
		{"worker-1", "kubelet", nil, "ExecStartPre=/bin/sh -c 'echo worker-1 >/proc/sys/kernel/hostname'\nExecStart=\nExecStart=kubelet"},
		{"", "/opt/bin/kubelet", []string{"--config=/var/lib/kubelet/config.yaml", "--node-ip=10.0.0.11,fd00::1"},
			"ExecStart=\nExecStart=/opt/bin/kubelet \\\n  --config=/var/lib/kubelet/config.yaml \\\n  --node-ip=10.0.0.11,fd00::1"},
		{"", "/opt/$x/100%/kubelet", []string{"--a=%h", "--b=$HOME", "--c=${X}", "--d=a b", "--e='", `--f="`, `--g=\n`, "--h=\n", ";", ""},
			"ExecStart=\nExecStart=/opt/$x/100%%/kubelet \\\n  --a=%%h \\\n  --b=$$HOME \\\n  --c=$${X} \\\n  \"--d=a b\" \\\n  \"--e='\" \\\n  \"--f=\\\"\" \\\n" +
				"  \"--g=\\\\n\" \\\n  \"--h=\\n\" \\\n  \";\" \\\n  \"\""},
	} {
		want := "[Service]\n" + row.want + "\n"
		if got := templates.KubeletDropIn(row.node, row.program, row.flags...); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestUnits has systemd read them, each with its drop-ins.
func TestUnits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	dir := t.TempDir()
	if text := templates.Unit("kiln.service"); strings.Contains(text, "#") || !strings.HasPrefix(text, "[Unit]\n") {
		t.Errorf("kiln.service:\n%s", text)
	}
	must(t, filepath.WalkDir("units", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name := strings.TrimPrefix(path, "units/")
			write(t, filepath.Join(dir, name), templates.Unit(name), 0o600)
		}
		return err
	}))
	write(t, dir+"/kubelet.service.d/10-kubeadm.conf", templates.KubeletDropIn("cp-1", "/bin/true", "--node-ip=10.0.0.11", "--x=%h $y \"'\\;"), 0o600)
	for _, unit := range []string{"kiln.service", "kubelet.service", "kiln-routes.service"} {
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", dir+"/"+unit).CombinedOutput()
		if err != nil || strings.Contains(string(out), dir) || strings.Contains(string(out), unit) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
	for _, unit := range []string{"kiln.service", "kiln-routes.service"} {
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", dir+"/"+unit).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

func TestUnitUnknown(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	templates.Unit("../boot/boot")
}
