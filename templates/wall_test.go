package templates_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

// TestWall sets the rules of kiln-wall.service with the real ip, in a network of its own: they
// refuse what they name and nothing else, are set once, and stay when a firewall removes all rules.
// A rule that cannot be set fails the unit.
func TestWall(t *testing.T) {
	in, set := wallNetwork(t)
	nft := need.Program(t, "nft")
	reaches := func(to, port string) bool {
		_, err := in("ip", "route", "get", to, "from", "10.244.0.7", "iif", "cni0", "ipproto",
			"tcp", "dport", port)
		return err == nil
	}
	holds := func(when string) {
		t.Helper()
		out, _ := in("ip", "rule", "show")
		require.Equal(t, 1, strings.Count(out, "169.254.169.254"), "%v: %v", when, out)
		require.False(t, reaches("169.254.169.254", "80"), "%v: %v", when, out)
		require.True(t, reaches("169.254.169.254", "53"), "%v: %v", when, out)
		require.True(t, reaches("192.0.2.7", "80"), "%v: %v", when, out)
	}
	require.True(t, reaches("169.254.169.254", "80"), "nothing can be refused here")
	for _, when := range []string{"first", "again"} {
		for _, command := range shellCommands(templates.Wall([]string{wallRule})) {
			set("/bin/sh", "-c", command)
		}
		holds(when)
	}
	set(nft, "flush", "ruleset")
	holds("without rules of a firewall")

	wrong := shellCommands(templates.Wall([]string{"-4 rule add from nowhere"}))[0]
	out, err := in("/bin/sh", "-c", wrong)
	require.Error(t, err, out)
	require.Contains(t, out, "ip -4 rule add from nowhere: ")
}

// TestWallStays: systemd-networkd, which starts without the settings of kiln as in a machine's
// first boot, removes the rules of others and leaves that of the wall.
func TestWallStays(t *testing.T) {
	in, set := wallNetwork(t)
	networkd := need.Program(t, "systemd-networkd")
	set("/bin/sh", "-c", shellCommands(templates.Wall([]string{wallRule}))[0])
	set("ip", "rule", "add", "from", "192.0.2.0/24", "priority", "101", "prohibit")
	// It takes no link before udev has seen it.
	const start = `mount -t tmpfs none /run && mkdir -p /run/systemd/netif /run/systemd/network ` +
		`/run/udev/data && touch /run/udev/control && ` +
		`for i in /sys/class/net/*/ifindex; do echo I:1 >"/run/udev/data/n$(cat "$i")"; done && ` +
		`printf '[Match]\nName=eth0\n[Network]\nAddress=10.0.0.11/24\n' ` +
		`>/run/systemd/network/10.network && (timeout 20 "$1" 2>&1 & n=0; ` +
		`while ip rule | grep -q 192.0.2.0 && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; ` +
		`kill %1)`
	log, _ := in("unshare", "--mount", "sh", "-c", start, "--", networkd)
	rules, _ := in("ip", "rule", "show")
	require.NotContains(t, rules, "192.0.2.0", log)
	require.Contains(t, rules, "169.254.169.254")
}

const wallRule = "-4 rule add from 10.244.0.0/16 to 169.254.169.254 ipproto tcp dport 54-65534 " +
	"priority 100 protocol kernel prohibit"

// wallNetwork makes a network of the test's own with a bridge of pods and a way out. in runs a
// command there; set ends the test if the command fails.
func wallNetwork(t *testing.T) (in func(...string) (string, error), set func(...string)) {
	need.Right(t, need.OwnNetwork)
	ip := need.Program(t, "ip")
	namespace := fmt.Sprintf("kiln-wall-%d-%s", os.Getpid(), t.Name())
	in = func(command ...string) (string, error) {
		words := append([]string{"netns", "exec", namespace}, command...)
		out, err := exec.Command(ip, words...).CombinedOutput()
		return string(out), err
	}
	set = func(command ...string) {
		t.Helper()
		out, err := in(command...)
		require.NoError(t, err, "%v: %v", command, out)
	}
	out, err := exec.Command(ip, "netns", "add", namespace).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() { _ = exec.Command(ip, "netns", "del", namespace).Run() })
	for _, command := range []string{
		"link set lo up", "link add cni0 type bridge", "link set cni0 up",
		"address add 10.244.0.1/24 dev cni0", "link add eth0 type bridge", "link set eth0 up",
		"address add 10.0.0.11/24 dev eth0", "route add default via 10.0.0.1",
	} {
		set(append([]string{ip}, strings.Fields(command)...)...)
	}
	set("sysctl", "-qw", "net.ipv4.ip_forward=1")
	return in, set
}

var execStart = regexp.MustCompile(`(?m)^Exec\w+=-?/bin/sh -c '(.*)'$`)

// shellCommands returns the programs for the shell in a unit, as systemd hands them over.
func shellCommands(unit string) (out []string) {
	for _, m := range execStart.FindAllStringSubmatch(unit, -1) {
		out = append(out, strings.ReplaceAll(m[1], "$$", "$"))
	}
	return out
}

// TestFirewallDropIn: the programs whose rules a firewall has removed end, and no others.
func TestFirewallDropIn(t *testing.T) {
	programs := shellCommands(templates.FirewallDropIn)
	if len(programs) != 3 || programs[0] != programs[1] || programs[0] != programs[2] {
		t.Fatalf("%q", programs)
	}
	underEachShell(t, func(t *testing.T, shell []string) {
		root := t.TempDir()
		ended := map[string]bool{}
		for name, ends := range map[string]bool{
			"kube-proxy": true, "flanneld": true, "kubelet": false, "flanneld-other": false,
		} {
			process := exec.Command(need.Basic(t, "sleep"), "60")
			must(t, process.Start())
			t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
			write(t, fmt.Sprintf("%s/%d/comm", root, process.Process.Pid), name+"\n", 0o644)
			ended[fmt.Sprint(process.Process.Pid)] = ends
		}
		must(t, os.Mkdir(root+"/1", 0o755)) // a process that has just ended
		program := strings.ReplaceAll(programs[0], "/proc/", root+"/")
		// It says who would end.
		program = strings.ReplaceAll(program, "kill ", "echo ")
		out, err := exec.Command(need.Basic(t, shell[0]),
			append(shell[1:len(shell):len(shell)], "-c", program)...).Output()
		must(t, err)
		for _, pid := range strings.Fields(string(out)) {
			require.True(t, ended[pid], "%s ends\n%s", pid, out)
			delete(ended, pid)
		}
		for pid, ends := range ended {
			require.False(t, ends, "%s goes on\n%s", pid, out)
		}
	})
}
