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
		// Stripping must not cut the script off: its last line is that of the file in boot/.
		source, err := os.ReadFile("boot/" + name)
		must(t, err)
		if !strings.HasSuffix(string(source), lines[len(lines)-1]+"\n") {
			t.Errorf("%s does not end with the last line of boot/%s", name, name)
		}
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
		if got := templates.KubeletDropIn(row.program, row.flags...); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestUnits has systemd judge the units' sandboxes, and read the kubelet's drop-in with flags that
// need quoting. render.TestEveryUnit verifies the units of whole machines.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	dir := t.TempDir()
	if text := templates.Unit("kiln.service"); strings.Contains(text, "#") ||
		!strings.HasPrefix(text, "[Unit]\n") {
		t.Errorf("kiln.service:\n%s", text)
	}
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
	if err != nil || strings.Contains(string(out), "kubelet.service") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, unit := range []string{"kiln.service", "kiln-wall.service", "kiln-backup.service"} {
		out, err := exec.Command(analyze, "--offline=true", "--threshold=30", "--no-pager",
			"security", dir+"/"+unit).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
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
		if err != nil {
			t.Fatalf("%s: %v\n%s", calendar, err, out)
		}
		var times []time.Time
		for _, m := range regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`).FindAllString(
			string(out), -1) {
			at, err := time.Parse("2006-01-02 15:04:05 UTC", m)
			must(t, err)
			if len(times) == 0 || !at.Equal(times[len(times)-1]) {
				times = append(times, at)
			}
		}
		if len(times) != 4 {
			t.Fatalf("%s: %d events\n%s", calendar, len(times), out)
		}
		for i := range times[1:] {
			if got := times[i+1].Sub(times[i]); got != every {
				t.Errorf("%s: %s between two, want %s", calendar, got, every)
			}
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
	if got, want := slices.Sorted(slices.Values(documented)),
		slices.Sorted(slices.Values(templates.FaultCodes)); !slices.Equal(got, want) {
		t.Errorf("docs/faults.md has %q\nFaultCodes are %q", got, want)
	}
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
		if !regexp.MustCompile(`[ "'=]` + whole + `[ "'\n]`).MatchString(hook.String()) {
			t.Errorf("the hook never says %s", code)
		}
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
	if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got,
		slices.Sorted(slices.Values(fields))) ||
		!slices.Equal(got, slices.Sorted(slices.Values(schema.Required))) {
		t.Errorf("properties %q, required %q, the hook writes %q", got, schema.Required, fields)
	}
	if want := []string{"code", "object", "evidence",
		"remedy"}; !slices.Equal(schema.Properties["faults"].Items.Required, want) {
		t.Errorf("faults %q, want %q", schema.Properties["faults"].Items.Required, want)
	}
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
		if !slices.Contains(schema.Properties["step"].Enum, name) {
			t.Errorf("the schema does not know the step %s", name)
		}
	}
	for _, step := range schema.Properties["step"].Enum {
		if name := strings.TrimSuffix(strings.TrimSuffix(step, "-boot"),
			"-plane"); step != "start" && step != "files" &&
			!strings.Contains(string(source), "step_"+name+"() {") {
			t.Errorf("there is no step %s", step)
		}
	}
}
