package assembly_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"kiln/render/config"
	"kiln/render/facts/node"
	"kiln/render/facts/target"
	"kiln/render/machine/assembly"
	"kiln/render/plan"
	"kiln/test/need"
)

// machine returns a machine with an operating system and further lines of its settings, and what
// package assembly adds to it.
func machine(t *testing.T, osName, lines string) (n *node.Node, unit string) {
	t.Helper()
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n" +
		"  kubernetesVersion: v1.36.3\n  machines:\n    os: " + osName + "\n" + lines +
		"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11, \"fd00::11\"]}\n" +
		"  network: {podSubnets: [10.244.0.0/16, \"fd01::/48\"], " +
		"serviceSubnets: [10.96.0.0/16, \"fd02::/112\"]}\n"
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	n = &node.Node{}
	unit, _ = assembly.Add(&plan.New(c).Machines[0], n, c.Text)
	return n, unit
}

// content returns the content of a machine's file.
func content(t *testing.T, n *node.Node, path string) string {
	t.Helper()
	f := n.File(path)
	require.NotNil(t, f, path)
	return string(f.Content)
}

// TestNothing: a machine that sets nothing has nothing.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, s := range target.Systems {
		n, unit := machine(t, s.Name, "")
		require.Empty(t, n.Files)
		require.Empty(t, n.Units)
		require.Empty(t, unit)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	n, unit := machine(t, "debian",
		"    hostAliases: [{ip: 192.0.2.5, hostnames: [a.example.com, a]}]\n")
	require.Empty(t, unit, "programs read /etc/hosts each time")
	require.Equal(t, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"+
		"10.0.0.11 cp-1\nfd00::11 cp-1\n192.0.2.5 a.example.com a\n",
		content(t, n, target.HostsFile))
}

// TestPolicies: every system has a way to install no updates, and every one that says so has a
// window.
func TestPolicies(t *testing.T) {
	t.Parallel()
	for _, s := range target.Systems {
		n, _ := machine(t, s.Name, "    updates: {policy: none}\n")
		require.NotEmpty(t, len(n.Files)+len(n.Units), s.Name)
		if !s.Updater.HasWindow() {
			continue
		}
		n, _ = machine(t, s.Name, "    updates: {policy: window, start: \"02:00\", length: 1h}\n")
		require.NotEmpty(t, n.Files, s.Name)
	}
}

// TestZincati reads what zincati reads.
func TestZincati(t *testing.T) {
	t.Parallel()
	const path = "/etc/zincati/config.d/90-kiln.toml"
	type window struct {
		Days   []string
		Start  string `toml:"start_time"`
		Length int    `toml:"length_minutes"`
	}
	for start, days := range map[string][]string{
		"02:00":     {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"},
		"Sun 02:00": {"Sun"},
	} {
		n, _ := machine(t, "fedora-coreos",
			"    updates: {policy: window, start: \""+start+"\", length: 90m}\n")
		var got struct {
			Updates struct {
				Strategy string
				Periodic struct {
					TimeZone string `toml:"time_zone"`
					Window   []window
				}
			}
		}
		require.NoError(t, toml.Unmarshal([]byte(content(t, n, path)), &got))
		require.Equal(t, "periodic", got.Updates.Strategy)
		require.Equal(t, "UTC", got.Updates.Periodic.TimeZone)
		require.Equal(t, []window{{days, "02:00", 75}}, got.Updates.Periodic.Window)
	}
}

// TestCalendars: systemd, which reads them for timers, and rebootmgr, which calls it, understand
// the starts of windows.
func TestCalendars(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	for _, start := range []string{"02:00", "23:59", "Sun 00:00", "Mon 02:00", "Sat 23:30"} {
		begin, _ := config.WindowStart(start)
		require.NotEqual(t, time.Time{}, begin, start)
		n, _ := machine(t, "ubuntu",
			"    updates: {policy: window, start: \""+start+"\", length: 1h}\n")
		timer := content(t, n, "/etc/systemd/system/apt-daily-upgrade.timer.d/90-kiln.conf")
		_, calendar, ok := strings.Cut(timer, "OnCalendar=\nOnCalendar=")
		require.True(t, ok, timer)
		calendar, _, _ = strings.Cut(calendar, "\n")
		out, err := exec.Command(analyze, "calendar", calendar).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), begin.Format("15:04:05")+" UTC")
	}
}
