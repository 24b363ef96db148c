package render_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/test/need"
)

const unitFolder = "/etc/systemd/system/"

// systemUnits stand in for the units that an operating system brings and kiln's units name, with
// the order in which systemd has them (bootup(7)).
var systemUnits = map[string]string{
	"local-fs.target":          "[Unit]\nBefore=sysinit.target\n",
	"sysinit.target":           "[Unit]\nWants=local-fs.target\nAfter=local-fs.target\n",
	"timers.target":            "[Unit]\nDefaultDependencies=no\n",
	"network-pre.target":       "[Unit]\nBefore=network.target\n",
	"network.target":           "[Unit]\nAfter=network-pre.target\n",
	"network-online.target":    "[Unit]\nAfter=network.target\n",
	"time-sync.target":         "[Unit]\nDescription=time\n",
	"shutdown.target":          "[Unit]\nDefaultDependencies=no\n",
	"umount.target":            "[Unit]\nDefaultDependencies=no\n",
	"final.target":             "[Unit]\nDefaultDependencies=no\n",
	"basic.target":             "[Unit]\nRequires=sysinit.target\nAfter=sysinit.target\n",
	"cloud-config.target":      "[Unit]\nAfter=network-online.target\n",
	"multi-user.target":        "[Unit]\nRequires=basic.target\nAfter=basic.target\n",
	"graphical.target":         "[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\n",
	"cloud-final.service":      "[Unit]\nAfter=network-online.target\n" + runs,
	"systemd-fsck@.service":    "[Unit]\nDefaultDependencies=no\n" + runs,
	"systemd-sysext.service":   "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n" + runs,
	"systemd-networkd.service": "[Unit]\nDefaultDependencies=no\nBefore=network.target\n" + runs,
}

// runs is the rest of a service that stands in for another.
const runs = "[Service]\nExecStart=/bin/true\n"

// unitFiles returns the units and drop-ins of a machine by their paths below unitFolder. A unit of
// the system to which only a drop-in belongs is among them. The links are there that systemctl
// enable makes.
func unitFiles(n *node.Node) map[string]string {
	out := map[string]string{}
	for _, f := range n.Files {
		if name, ok := strings.CutPrefix(f.Path, unitFolder); ok {
			out[name] = string(f.Content)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		folder, _, ok := strings.Cut(name, ".d/")
		if _, own := out[folder]; !ok || own || systemUnits[folder] != "" {
			continue
		}
		out[folder] = runs
		if service, ok := strings.CutSuffix(folder, ".timer"); ok {
			out[folder] = "[Timer]\nOnBootSec=1h\n"
			out[service+".service"] = runs
		}
	}
	wanted := regexp.MustCompile(`(?m)^WantedBy=(.*)$`)
	for _, u := range n.Units {
		for _, m := range wanted.FindAllStringSubmatch(out[u.Name], -1) {
			if u.Enabled {
				out[m[1]+".d/wants-"+u.Name+".conf"] = "[Unit]\nWants=" + u.Name + "\n"
			}
		}
	}
	return out
}

var (
	execLine = regexp.MustCompile(`(?m)^(Exec\w+=[-@:+!]*)(\S+)`)
	inAddr   = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b|\b[0-9a-f]+::[0-9a-f]*\b`)
)

// verifyUnits returns what systemd says of units: each line without the folder. Programs that this
// computer does not have are replaced by one that it has.
func verifyUnits(t testing.TB, analyze, system string, files map[string]string) (lines []string) {
	t.Helper()
	dir := t.TempDir()
	words := []string{"--man=no", "verify"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := execLine.ReplaceAllStringFunc(files[name], func(line string) string {
			m := execLine.FindStringSubmatch(line)
			_, err := os.Stat(m[2])
			if bare := !strings.Contains(m[2], "/"); bare || err != nil && filepath.IsAbs(m[2]) {
				return m[1] + "/bin/true"
			}
			return line
		})
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		if !strings.Contains(name, "/") {
			words = append(words, path)
		}
	}
	cmd := exec.Command(analyze, append(words, filepath.Join(system, "multi-user.target"))...)
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":"+system, "SYSTEMD_LOG_COLOR=0")
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(strings.ReplaceAll(line, dir+"/", ""))
		if line != "" {
			lines = append(lines, line)
		}
	}
	if err != nil && len(lines) == 0 {
		lines = append(lines, err.Error())
	}
	return lines
}

// layUnits writes systemUnits, and returns their folder.
func layUnits(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range systemUnits {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// TestEveryUnit has systemd read the units and drop-ins of every golden machine, together, as it
// would at a boot. Machines that differ in names and addresses alone have the same units.
func TestEveryUnit(t *testing.T) {
	t.Parallel()
	analyze, system := need.Program(t, "systemd-analyze"), layUnits(t)
	seen := map[string]bool{}
	units := 0
	for _, name := range cases(t) {
		for _, n := range nodes(t, name) {
			files := unitFiles(n)
			like := strings.ReplaceAll(fmt.Sprint(files), n.Name, "NAME")
			like = inAddr.ReplaceAllString(like, "ADDRESS")
			if seen[like] {
				continue
			}
			seen[like] = true
			units += len(files)
			require.Empty(t, verifyUnits(t, analyze, system, files), "%s/%s", name, n.Name)
		}
	}
	require.Greater(t, len(seen), 20)
	t.Logf("%d different machines, %d units and drop-ins", len(seen), units)
}
