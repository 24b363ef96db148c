package templates_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kiln/templates"
	"kiln/test/need"
)

// fakeNet is ip, nft, iptables and ip6tables, each of which writes down what it was asked. ip knows
// rules alone: test/network sets routes with the real one.
const fakeNet = `#!/bin/sh
me=${0##*/}
echo "$*" >>"$WORLD/$me"
case $me in
ip)
	case $* in
	*169.254.42.42*) echo 'RTNETLINK answers: Operation not supported' >&2 && exit 2 ;;
	esac
	grep -qxF -e "$*" "$WORLD/set" && echo 'RTNETLINK answers: File exists' >&2 && exit 2
	echo "$*" >>"$WORLD/set"
	;;
nft)
	[ "$*" != 'list tables' ] || { cat "$WORLD/tables" && exit; }
	[ "$1" = list ] || cat >>"$WORLD/rules"
	[ "$1" != list ] || [ -e "$WORLD/rules" ]
	;;
ip*tables)
	case $* in
	*-C*) grep -qxF -e "$*" "$WORLD/set" ;;
	*) echo "$*" | sed 's/-A/-C/' >>"$WORLD/set" ;;
	esac
	;;
sleep)
	[ -e "$WORLD/again" ] || { kill -TERM $PPID && exit; }
	rm "$WORLD/again"
	[ ! -e "$WORLD/later" ] || cat "$WORLD/later" >"$WORLD/tables"
	;;
esac
`

type router struct {
	t           *testing.T
	shell       []string
	root, world string
	path        string
}

func newRouter(
	t *testing.T, shell []string, masquerade string, commands ...string,
) *router {
	t.Helper()
	dir := t.TempDir()
	r := &router{t: t, shell: shell, root: dir + "/r", world: dir + "/w", path: dir + "/b"}
	write(t, r.root+templates.RoutesPath, templates.Routes, 0o600)
	if masquerade != "" {
		write(t, r.root+"/etc/kiln/masquerade", masquerade, 0o600)
	}
	write(t, r.world+"/set", "", 0o600)
	write(t, r.path+"/fake", fakeNet, 0o755)
	for _, name := range append(commands, "sleep") {
		must(t, os.Symlink("fake", r.path+"/"+name))
	}
	// The real nft and iptables of this computer must not be found.
	for _, name := range strings.Fields("sh cat chmod mkdir head tail rm grep sed") {
		must(t, os.Symlink(need.Basic(t, name), r.path+"/"+name))
	}
	return r
}

func (r *router) run(arguments ...string) string {
	r.t.Helper()
	cmd := exec.Command(need.Basic(r.t, r.shell[0]), append(slices.Concat(r.shell[1:],
		[]string{r.root + templates.RoutesPath}), arguments...)...)
	cmd.Env = []string{"PATH=" + r.path, "KILN_ROOT=" + r.root, "WORLD=" + r.world}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if len(arguments) > 0 && err != nil {
		r.t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func (r *router) read(name string) string {
	content, err := os.ReadFile(r.world + "/" + name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(content)
}

// state returns what the program leaves for the checks of the first boot.
func (r *router) state(topic string) string {
	content, err := os.ReadFile(r.root + "/run/kiln-routes/" + topic + ".state")
	must(r.t, err)
	return string(content)
}

func TestMasquerade(t *testing.T) {
	const data = "ip 10.244.5.0/24 10.244.0.0/16\nip6 fd00:10:244:5::/64 fd00:10:244::/48\n"
	underEachShell(t, func(t *testing.T, shell []string) {
		r := newRouter(t, shell, data, "ip", "nft", "iptables", "ip6tables")
		write(t, r.world+"/again", "", 0o600)
		out := r.run()
		want := "table inet kiln\ndelete table inet kiln\ntable inet kiln {\n" +
			"chain postrouting {\n" +
			"type nat hook postrouting priority 100; policy accept;\n" +
			"ip saddr 10.244.5.0/24 ip daddr != 10.244.0.0/16 masquerade\n" +
			"ip6 saddr fd00:10:244:5::/64 ip6 daddr != fd00:10:244::/48 masquerade\n}\n}\n"
		if got := r.read("rules"); got != want || r.read("iptables") != "" ||
			strings.Contains(out, "cannot") {
			t.Errorf("nft: %s%s\nwant %s", out, got, want)
		}

		r = newRouter(t, shell, data, "ip", "iptables", "ip6tables")
		write(t, r.world+"/again", "", 0o600)
		out = r.run()
		want = "-w -t nat -C POSTROUTING -s 10.244.5.0/24 ! -d 10.244.0.0/16 -m comment " +
			"--comment kiln -j MASQUERADE\n" +
			"-w -t nat -A POSTROUTING -s 10.244.5.0/24 ! -d 10.244.0.0/16 -m comment --comment " +
			"kiln -j MASQUERADE\n" +
			"-w -t nat -C POSTROUTING -s 10.244.5.0/24 ! -d 10.244.0.0/16 -m comment --comment " +
			"kiln -j MASQUERADE\n"
		if got := r.read("iptables"); got != want ||
			!strings.Contains(r.read("ip6tables"), "-A POSTROUTING -s fd00:10:244:5::/64 ! -d "+
				"fd00:10:244::/48") {
			t.Errorf("iptables: %s%s\nwant %s", out, got, want)
		}

		r = newRouter(t, shell, data, "ip")
		write(t, r.world+"/again", "", 0o600)
		want = "pods cannot reach what lies outside the cluster: neither nft nor iptables is here\n"
		if out := r.run(); strings.Count(out, want) != 1 {
			t.Errorf("neither: %s", out)
		}
		if got := r.state("masquerade"); got != "neither nft nor iptables is here\n" {
			t.Errorf("state %s", got)
		}
	})
}

// TestServices: kube-proxy ends when its table goes, and is left alone before it has one, and if it
// has none.
func TestServices(t *testing.T) {
	const none, some = "table inet kiln\n", "table inet kiln\ntable ip kube-proxy\n"
	underEachShell(t, func(t *testing.T, shell []string) {
		for _, tt := range []struct {
			before, after string
			ends          bool
		}{{some, none, true}, {none, some, false}, {some, some, false}, {none, none, false}} {
			r := newRouter(t, shell, "", "ip", "nft")
			proxy := exec.Command(need.Basic(t, "sleep"), "60")
			must(t, proxy.Start())
			process := fmt.Sprintf("%s/proc/%d/comm", r.root, proxy.Process.Pid)
			write(t, process, "kube-proxy\n", 0o644)
			write(t, r.root+"/proc/1/comm", "systemd\n", 0o644)
			write(t, r.world+"/tables", tt.before, 0o644)
			write(t, r.world+"/later", tt.after, 0o644)
			write(t, r.world+"/again", "", 0o600)
			out := r.run()
			_ = proxy.Process.Signal(syscall.SIGKILL) // if it has not ended
			var end *exec.ExitError
			if !errors.As(proxy.Wait(), &end) {
				t.Fatal("it ended by itself")
			}
			ended := end.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM
			said := strings.Count(out, "the rules of kube-proxy are gone")
			if ended != tt.ends || (said == 1) != tt.ends {
				t.Errorf("%q, then %q: ended %t\n%s", tt.before, tt.after, ended, out)
			}
		}
	})
}

// TestLeases: what the address plugin has written is closed, whatever it is called.
func TestLeases(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		r := newRouter(t, shell, "", "ip")
		dir := r.root + "/var/lib/cni/networks/kiln"
		write(t, dir+"/10.244.5.2", "id", 0o644)
		write(t, dir+"/lock", "", 0o750)
		r.run("once")
		for _, name := range []string{"10.244.5.2", "lock"} {
			info, err := os.Stat(dir + "/" + name)
			must(t, err)
			if info.Mode() != 0o600 {
				t.Errorf("%s: %v", name, info.Mode())
			}
		}
	})
}
