package templates_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

func TestScriptsAreStripped(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"boot": templates.Boot(conditions), "backup": templates.Backup,
	} {
		lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
		require.Equal(t, "#!/bin/sh", lines[0], "%v: %v", name, lines[:2])
		require.True(t, strings.HasPrefix(lines[1], "# kiln"), "%v: %v", name, lines[:2])
		comments := 0
		for _, line := range lines {
			if line = strings.TrimSpace(line); line == "" {
				t.Errorf("%s has an empty line", name)
			} else if line[0] == '#' {
				comments++
			}
		}
		require.LessOrEqual(t, comments, 4, name)
		require.LessOrEqual(t, len(script), 13000, name)
		// Stripping must not cut the script off: its last line is that of the file in boot/.
		source, err := os.ReadFile("boot/" + name)
		must(t, err)
		require.True(t, strings.HasSuffix(string(source), lines[len(lines)-1]+"\n"),
			"%s does not end with the last line of boot/%s", name, name)
	}
}

func TestKubeletDropIn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program string
		flags   []string
		want    string
	}{
		{"/usr/bin/kubelet", nil, "/usr/bin/kubelet"},
		{"/opt/bin/kubelet", []string{"--config=/var/lib/kubelet/config.yaml",
			"--node-ip=10.0.0.11,fd00::1"},
			"/opt/bin/kubelet \\\n  --config=/var/lib/kubelet/config.yaml \\\n  " +
				"--node-ip=10.0.0.11,fd00::1"},
		{"/opt/$x/100%/kubelet", []string{"--a=%h", "--b=$HOME", "--c=${X}", "--d=a b", "--e='",
			`--f="`, `--g=\n`, "--h=\n", ";", ""},
			"/opt/$x/100%%/kubelet \\\n  --a=%%h \\\n  --b=$$HOME \\\n  --c=$${X} \\\n  \"--d=a " +
				"b\" \\\n  \"--e='\" \\\n  \"--f=\\\"\" \\\n" +
				"  \"--g=\\\\n\" \\\n  \"--h=\\n\" \\\n  \";\" \\\n  \"\""},
	} {
		want := "[Service]\nExecStart=\nExecStart=" + row.want + "\n"
		require.Equal(t, want, templates.KubeletDropIn(row.program, row.flags...))
	}
}

// TestUnits has systemd judge the units' sandboxes, and read the kubelet's drop-in with flags that
// need quoting. render.TestEveryUnit verifies the units of whole machines.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	dir := t.TempDir()
	text := templates.Unit("kiln.service")
	require.NotContains(t, text, "#")
	require.True(t, strings.HasPrefix(text, "[Unit]\n"), text)
	must(t, filepath.WalkDir("units", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name := strings.TrimPrefix(path, "units/")
			text := templates.Unit(name)
			if name == "kiln-wall.service" {
				text = templates.Wall([]string{"-4 rule add from 10.244.0.0/16 prohibit"})
			}
			write(t, filepath.Join(dir, name), text, 0o600)
		}
		return err
	}))
	write(t, dir+"/kubelet.service.d/10-kubeadm.conf",
		templates.KubeletDropIn("/bin/true", "--node-ip=10.0.0.11", "--x=%h $y \"'\\;"), 0o600)
	out, err := exec.Command(analyze, "--man=no", "verify", dir+"/kubelet.service").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "kubelet.service")
	for _, unit := range []string{"kiln.service", "kiln-wall.service", "kiln-backup.service"} {
		out, err := exec.Command(analyze, "--offline=true", "--threshold=30", "--no-pager",
			"security", dir+"/"+unit).CombinedOutput()
		require.NoError(t, err, "%s: %s", unit, out)
	}
}

// TestBackupTimer: systemd understands every period that a configuration may have, and its events
// are as far apart.
func TestBackupTimer(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	for _, every := range config.BackupPeriods {
		_, calendar, _ := strings.Cut(templates.BackupTimer(every), "OnCalendar=")
		calendar, _, _ = strings.Cut(calendar, "\n")
		out, err := exec.Command(analyze, "--iterations=4", "calendar",
			calendar).CombinedOutput()
		require.NoError(t, err, "%s: %s", calendar, out)
		var times []time.Time
		for _, m := range regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`).FindAllString(
			string(out), -1) {
			at, err := time.Parse("2006-01-02 15:04:05 UTC", m)
			must(t, err)
			if len(times) == 0 || !at.Equal(times[len(times)-1]) {
				times = append(times, at)
			}
		}
		require.Len(t, times, 4, "%s: %s", calendar, out)
		for i := range times[1:] {
			require.Equal(t, every, times[i+1].Sub(times[i]), calendar)
		}
	}
}

func TestUnitUnknown(t *testing.T) {
	t.Parallel()
	defer func() {
		require.NotNil(t, recover(), "no panic")
	}()
	templates.Unit("../boot/boot")
}

// TestFaultsAreDocumented: each code of the hook's own stands in docs/faults.md, and is said
// somewhere in the hook.
func TestFaultsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/faults.md")
	must(t, err)
	var table strings.Builder
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "| `") {
			table.WriteString(strings.SplitN(line, "|", 3)[1])
		}
	}
	var documented []string
	for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(table.String(), -1) {
		documented = append(documented, m[1])
	}
	got, want := slices.Sorted(slices.Values(documented)),
		slices.Sorted(slices.Values(templates.FaultCodes))
	require.Equal(t, want, got)
	scripts, err := filepath.Glob("boot/*")
	must(t, err)
	var hook strings.Builder
	for _, name := range scripts {
		content, err := os.ReadFile(name)
		must(t, err)
		for line := range strings.Lines(string(content)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				hook.WriteString(line)
			}
		}
	}
	for _, code := range templates.FaultCodes {
		whole := code
		if pod, ok := strings.CutSuffix(code, "-unhealthy"); ok && pod != "kubelet" {
			whole = `\$1-unhealthy` // the hook says it of each static pod
		}
		require.True(t, regexp.MustCompile(`[ "'=]`+whole+`[ "'\n]`).MatchString(hook.String()),
			"the hook never says %s", code)
	}
}

// TestStatusSchema: docs/status.schema.json describes what the hook writes, no more and no less.
func TestStatusSchema(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/status.schema.json")
	must(t, err)
	var schema struct {
		Required   []string
		Properties map[string]struct {
			Enum  []string
			Items struct{ Required []string }
		}
	}
	must(t, json.Unmarshal(data, &schema))
	var fields []string
	for field := range reflect.TypeFor[verdict]().Fields() {
		fields = append(fields, strings.ToLower(field.Name))
	}
	got := slices.Sorted(maps.Keys(schema.Properties))
	require.Equal(t, slices.Sorted(slices.Values(fields)), got)
	require.Equal(t, slices.Sorted(slices.Values(schema.Required)), got)
	require.Equal(t, []string{"code", "object", "evidence",
		"remedy"}, schema.Properties["faults"].Items.Required)
	var source []byte
	for _, name := range []string{"boot/steps", "boot/etcd", "boot/pool", "boot/fetch"} {
		text, err := os.ReadFile(name)
		must(t, err)
		source = append(source, text...)
	}
	for _, m := range regexp.MustCompile(`(?m)^step_([a-z]+)\(\)`).FindAllSubmatch(source, -1) {
		name := string(m[1])
		if full := map[string]string{
			"pre": "pre-boot", "post": "post-boot", "control": "control-plane",
		}[name]; full != "" {
			name = full
		}
		require.Contains(t, schema.Properties["step"].Enum, name, name)
	}
	for _, step := range schema.Properties["step"].Enum {
		if step != "start" && step != "files" {
			name := strings.TrimSuffix(strings.TrimSuffix(step, "-boot"), "-plane")
			require.Contains(t, string(source), "step_"+name+"() {")
		}
	}
}
