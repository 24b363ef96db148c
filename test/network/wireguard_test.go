package network_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"kiln/test/need"
)

// encrypted is the way of packets of pods with network.encryption wireguard.
const encrypted = "wireguard"

// patience is how long tests wait for machines that encrypt. wireguard-go and its tests want far
// more of the processors than the kernel does.
const patience = 3 * time.Minute

// The kernel of this computer may have no WireGuard, so wireguard-go takes its place: the tool wg
// speaks with it through a socket, and all else is the real ip, wg and program.
const fakeIP = `#!/bin/sh
[ "$*" != 'link add kiln-wg type wireguard' ] || exec setsid '%s' kiln-wg >/dev/null 2>&1
exec '%s' "$@"
`

// encrypts readies the lab for machines that encrypt.
func (l *lab) encrypts() {
	l.t.Helper()
	need.Program(l.t, "wg")
	l.tools = l.t.TempDir()
	l.script("ip", fmt.Sprintf(fakeIP, need.Program(l.t, need.WireGuard), l.iproute))
	require.NoError(l.t, os.MkdirAll("/run/wireguard", 0o700))
}

// script puts a program before all others.
func (l *lab) script(name, text string) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(filepath.Join(l.tools, name), []byte(text), 0o755))
}

// tunnelled returns the words that start a program of a machine where wg finds the machine's own
// socket.
func (l *lab) tunnelled(m *machine, words ...string) []string {
	if l.tools == "" {
		return words
	}
	sockets := m.root + "/run-wireguard"
	require.NoError(l.t, os.MkdirAll(sockets, 0o700))
	return append([]string{"sh", "-c", "mount --bind " + sockets + ` /run/wireguard && exec "$@"`,
		"sh"}, words...)
}

// masked writes the file with the pod subnets, and takes the tunnel away when the test is over.
func (m *machine) masked() {
	m.write("/etc/kiln/masquerade", "ip 10.244.0.0/16 10.244.0.0/16\nip6 fd00:10:244::/48 "+
		"fd00:10:244::/48\n")
	m.lab.t.Cleanup(m.unplug)
}

// closed waits until no packet for a pod leaves the machines in clear.
func (l *lab) closed(machines ...*machine) {
	l.t.Helper()
	l.eventually(patience, func() error {
		for _, m := range machines {
			for _, family := range []string{"-4", "-6"} {
				if l.ip(m.namespace, family+" route show type prohibit") == "" {
					return fmt.Errorf("%s is open", m.name)
				}
			}
		}
		return nil
	})
}

// unplug removes the tunnel, and so ends wireguard-go.
func (m *machine) unplug() {
	_ = exec.Command(m.lab.iproute, "-n", m.namespace, "link", "del", "kiln-wg").Run()
}

// reboots takes from a machine what does not outlive a reboot, and starts it.
func (m *machine) reboots() {
	m.lab.t.Helper()
	m.stop()
	m.unplug()
	for _, family := range []string{"-4", "-6"} {
		for line := range strings.Lines(m.lab.ip(m.namespace, family+" route show proto 107")) {
			m.lab.ip(m.namespace, "route del "+strings.Fields(line)[0]+" proto 107")
		}
	}
	require.NoError(m.lab.t, os.RemoveAll(m.root+"/run"))
	m.start()
}

// wg asks wg for what it shows of the machine's tunnel.
func (m *machine) wg(what string) string {
	m.lab.t.Helper()
	words := append([]string{"netns", "exec", m.namespace},
		m.lab.tunnelled(m, "wg", "show", "kiln-wg", what)...)
	out, err := exec.Command(m.lab.iproute, words...).CombinedOutput()
	require.NoError(m.lab.t, err, "%s", out)
	return string(out)
}

func newKey(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(need.Program(t, "wg"), "genkey").Output()
	require.NoError(t, err)
	return string(out)
}

// three returns three machines that encrypt on two segments, the last one alone on the second. The
// router between them drops packets of pods.
func three(t *testing.T, mtu int) (l *lab, machines []*machine) {
	t.Helper()
	l, machines = two(t, encrypted, mtu)
	l.encrypts()
	for _, m := range machines {
		m.masked()
		m.write("/etc/kiln/wireguard.key", newKey(t))
	}
	return l, machines
}

// capture holds the packets on a segment.
type capture struct {
	mu     sync.Mutex
	frames [][]byte
	last   []byte // the last one that saw has counted
}

// watch begins to capture on all interfaces of a namespace.
func (l *lab) watch(namespace string) *capture {
	l.t.Helper()
	c := &capture{}
	var fd int
	inside(l.t, namespace, func() (err error) {
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
		return err
	})
	require.NoError(l.t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO,
		&unix.Timeval{Usec: 100_000}))
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for buffer := make([]byte, 1<<16); ; {
			select {
			case <-over:
				return
			default:
			}
			if n, _, err := unix.Recvfrom(fd, buffer, 0); err == nil {
				c.mu.Lock()
				c.frames = append(c.frames, bytes.Clone(buffer[:n]))
				c.mu.Unlock()
			}
		}
	}()
	l.t.Cleanup(func() { close(over); <-done; _ = unix.Close(fd) })
	return c
}

// saw returns how many packets had these bytes.
func (c *capture) saw(what ...[]byte) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, frame := range c.frames {
		if bytes.Contains(frame, bytes.Join(what, nil)) {
			n++
			c.last = frame
		}
	}
	return n
}

const clear = "what a pod says to another one in clear"

// speaks sends words in clear from the machine's pod of a family to another one's.
func (m *machine) speaks(i int, to *machine) error {
	host := net.JoinHostPort(to.pod(i).String(), "8080")
	listener := listen(m.lab.t, to.namespace, host)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		}), ReadHeaderTimeout: time.Second,
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	m.write("/data", strings.Repeat(clear, 10_000))
	out, err := m.exec(fmt.Sprintf("curl -sSgf -m 5 --noproxy * --interface %s --data-binary "+
		"@%s/data http://%s/", m.pod(i), m.root, host))
	if err == nil && len(out) != 10_000*len(clear) {
		err = errors.New("it heard something else")
	}
	return err
}

// TestEncrypted: pods reach each other across a router that drops them, in both families; nothing
// on the wire is in clear, and each packet fits.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1450)
	wire := []*capture{l.watch(l.prefix + "a"), l.watch(l.prefix + "b")}
	start(machines...)
	// Pods come later than the first round of kiln-routes, which closes the way in clear.
	l.closed(machines...)
	t.Log("connected after", l.connected(patience, machines...))
	for _, from := range machines {
		for _, to := range machines {
			for i := range from.pods {
				if from == to {
					continue
				}
				require.NoError(t, from.speaks(i, to), "%s to %s", from.name, to.name)
				for _, c := range wire {
					require.Zero(t, c.saw(from.pod(i).AsSlice(), to.pod(i).AsSlice()),
						"%s to %s in clear: %x", from.name, to.name, c.last)
				}
			}
		}
	}
	for _, c := range wire {
		require.Zero(t, c.saw([]byte(clear)))
		require.Greater(t, c.saw([]byte{51820 >> 8, 51820 & 255, 51820 >> 8, 51820 & 255}), 1000)
	}
	require.Contains(t, l.ip(machines[0].namespace, "link show kiln-wg"), "mtu 1370 ")
	entry := regexp.MustCompile(
		`^10\.244\.\d+\.0/24 [0-9.]+ fd00:\S+ fd00:\S+ [A-Za-z0-9+/]{43}=$`)
	for _, m := range machines {
		require.Equal(t, 4, strings.Count(m.routes(), "dev kiln-wg"), m.routes())
		require.NotContains(t, m.log.String(), "cannot be set")
		key, err := os.ReadFile(m.root + "/etc/kiln/wireguard.key")
		require.NoError(t, err)
		require.NotContains(t, m.log.String(), strings.TrimSpace(string(key)))
		require.Regexp(t, entry, l.api.state()[m.name])
	}
}

// TestInClear: the capture of TestEncrypted sees what is in clear.
func TestInClear(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "vxlan", "cp-1", "w-1")
	wire := l.watch(l.prefix + "a")
	start(machines...)
	l.connected(patience, machines...)
	require.NoError(t, machines[0].speaks(0, machines[1]))
	require.NotZero(t, wire.saw([]byte(clear)))
	require.NotZero(t, wire.saw(machines[0].pod(0).AsSlice(), machines[1].pod(0).AsSlice()))
}

// TestEncryptedAway: without an API server a machine keeps what it knew, also after a reboot, when
// its tunnel is new.
func TestEncryptedAway(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1500)
	start(machines...)
	l.connected(patience, machines...)
	l.api.stop()
	m := machines[0]
	before, peers := m.routes(), m.wg("allowed-ips")
	m.reboots()
	t.Log("back after", l.connected(patience, machines...))
	require.Equal(t, before, m.routes())
	require.ElementsMatch(t, strings.Split(peers, "\n"), strings.Split(m.wg("allowed-ips"), "\n"))
	require.Contains(t, m.log.String(), "the API server does not hand out the entries")
}

// TestEncryptedKept: peers that stay keep their sessions while others come and go, and a program
// that starts again changes nothing.
func TestEncryptedKept(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1500)
	start(machines[:2]...)
	l.connected(patience, machines[:2]...)
	sessions := machines[0].wg("latest-handshakes")
	require.Equal(t, 1, strings.Count(sessions, "\n"))
	machines[2].start()
	l.connected(patience, machines...)
	require.Contains(t, machines[0].wg("latest-handshakes"), sessions)
	machines[0].stop()
	machines[0].start()
	l.eventually(patience, func() error { return machines[0].reaches(0, machines[1]) })
	time.Sleep(3 * time.Second)
	require.Contains(t, machines[0].wg("latest-handshakes"), sessions)
}

// TestEncryptedGone: when a Node is removed its machine has no access any more, though it goes on.
func TestEncryptedGone(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1500)
	start(machines...)
	l.connected(patience, machines...)
	gone := machines[2]
	// A machine that has been taken over does not write its entry again: its Node is gone.
	l.api.change(func() { delete(l.api.nodes, gone.name) })
	l.eventually(patience, func() error {
		for _, m := range machines[:2] {
			if strings.Count(m.wg("peers"), "\n") != 1 ||
				strings.Contains(m.routes(), "10.244.13.") {
				return fmt.Errorf("%s keeps it: %s%s", m.name, m.wg("allowed-ips"), m.routes())
			}
		}
		return nil
	})
	require.Error(t, gone.reaches(0, machines[0]))
	require.Error(t, gone.reaches(1, machines[1]))
	l.connected(patience, machines[:2]...)
}

// TestEncryptedPool: machines of a pool make keys of their own, and named machines learn them. A
// wiped one has another key, under the same name, and is learned again.
func TestEncryptedPool(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1500)
	var pool []*machine
	for i, name := range []string{"blue-1", "blue-2"} {
		m := l.member(name, l.prefix+"a", server, []string{
			fmt.Sprintf("10.0.0.%d/24", 21+i), fmt.Sprintf("fd00::%x/64", 21+i),
		}, []string{
			strings.Replace(range4, "auto", encrypted, 1),
			strings.Replace(range6, "auto", encrypted, 1),
		})
		m.masked()
		l.ip(m.namespace, "route add default via 10.0.0.1")
		l.ip(m.namespace, "route add default via fd00::1")
		l.api.change(func() { l.api.nodes[name] = true })
		pool = append(pool, m)
	}
	all := append(machines, pool...)
	start(all...)
	for _, m := range pool {
		m.parted()
	}
	t.Log("connected after", l.connected(patience, all...))
	const path = "/var/lib/kiln/wireguard.key"
	info, err := os.Stat(pool[0].root + path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	was := l.api.state()["blue-1"]
	pool[0].reboots()
	l.connected(patience, all...)
	require.Equal(t, was, l.api.state()["blue-1"])

	wiped := pool[0]
	wiped.stop()
	wiped.unplug()
	for _, name := range []string{path, "/var/lib/kiln/routes"} {
		require.NoError(t, os.Remove(wiped.root+name))
	}
	wiped.write("/var/lib/kiln/parts", "")
	wiped.start()
	t.Log("again after", l.connected(patience, all...))
	now := l.api.state()["blue-1"]
	require.NotEqual(t, was, now)
	require.Equal(t, strings.Fields(was)[:4], strings.Fields(now)[:4])
	require.NotContains(t, machines[0].wg("peers"), strings.Fields(was)[4])
	for _, m := range pool {
		key, err := os.ReadFile(m.root + path)
		require.NoError(t, err)
		require.NotContains(t, m.log.String(), strings.TrimSpace(string(key)))
	}
}

// TestEncryptedOrNothing: packets for a machine that does not encrypt go nowhere, and a machine
// that cannot encrypt says why, sends nothing in clear, and goes on by itself.
func TestEncryptedOrNothing(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1500)
	plain := l.machine("plain", l.prefix+"a", server, "auto", 1500, []string{"10.0.0.20/24"},
		[]string{"10.244.20.0/24"})
	l.api.change(func() { l.api.entries["plain"] = "10.244.20.0/24 10.0.0.20" })
	wire := l.watch(l.prefix + "a")
	key, err := os.ReadFile(machines[1].root + "/etc/kiln/wireguard.key")
	require.NoError(t, err)
	machines[1].write("/etc/kiln/wireguard.key", "nonsense\n")
	start(machines...)
	l.closed(machines...)
	l.connected(patience, machines[0], machines[2])
	require.Error(t, machines[0].reaches(0, plain))
	require.Error(t, machines[1].reaches(0, machines[0]))
	require.Zero(t, wire.saw(machines[0].pod(0).AsSlice(), plain.pod(0).AsSlice()))
	require.Zero(t, wire.saw(machines[1].pod(0).AsSlice(), machines[0].pod(0).AsSlice()))
	const why = "no key: wg: Key is not the correct length or format\n"
	said := machines[1].log.String()
	require.Contains(t, said, "pods of other machines are out of reach: "+why)
	require.Contains(t, said, "no other machine learns of this one: "+why)
	require.NotContains(t, said, "nonsense")
	state, err := os.ReadFile(machines[1].root + "/run/kiln-routes/wireguard.state")
	require.NoError(t, err)
	require.Equal(t, why, string(state))

	machines[1].write("/etc/kiln/wireguard.key", string(key))
	t.Log("connected after", l.connected(patience, machines...))
	require.Contains(t, machines[1].log.String(), "pods of other machines are out of reach: solved")
}

// TestEncryptedLacks: what is missing for encryption is named.
func TestEncryptedLacks(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		lab  func(l *lab, m *machine)
		want string
	}{
		"program": {func(l *lab, _ *machine) {
			l.script("wg", "#!/bin/sh\necho 'sh: wg: not found' >&2\nexit 127\n")
		}, "no key: sh: wg: not found\n"},
		"module": {func(l *lab, _ *machine) {
			l.script("ip", "#!/bin/sh\n[ \"$*\" != 'link add kiln-wg type wireguard' ] || {\n"+
				"echo 'Error: Unknown device type.' >&2\nexit 2\n}\nexec "+l.iproute+" \"$@\"\n")
		}, "no interface: Error: Unknown device type.\n"},
		"port": {func(l *lab, m *machine) {
			inside(l.t, m.namespace, func() error {
				c, err := net.ListenPacket("udp", ":51820")
				if err == nil {
					l.t.Cleanup(func() { _ = c.Close() })
				}
				return err
			})
		}, "UDP port 51820: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, machines := three(t, 1500)
			row.lab(l, machines[0])
			machines[0].start()
			l.eventually(patience, func() error {
				state, err := os.ReadFile(machines[0].root + "/run/kiln-routes/wireguard.state")
				if err != nil || !strings.Contains(string(state), row.want) {
					return fmt.Errorf("it says %q", state)
				}
				return nil
			})
			require.Empty(t, l.api.state())
		})
	}
}

// TestEncryptedGuard: a stranger on the segment does not pass for a pod of another machine.
func TestEncryptedGuard(t *testing.T) {
	t.Parallel()
	l, machines := three(t, 1500)
	start(machines[:2]...)
	l.connected(patience, machines[:2]...)
	// A pod behind the bridge, since what is on lo is the machine's own.
	m, pod := machines[0], l.namespace("pod")
	l.ip(m.namespace, "link add cni0 type bridge")
	l.ip(m.namespace, "address add 10.244.11.129/25 dev cni0")
	l.ip(m.namespace, "link set cni0 up")
	l.ip(pod, "link add eth0 type veth peer name veth0 netns "+m.namespace)
	l.ip(m.namespace, "link set veth0 master cni0 up")
	l.ip(pod, "address add 10.244.11.130/25 dev eth0")
	l.ip(pod, "link set eth0 up")
	l.ip(pod, "route add default via 10.244.11.129")
	var received net.PacketConn
	inside(t, pod, func() (err error) {
		received, err = net.ListenPacket("udp", "10.244.11.130:53")
		return err
	})
	t.Cleanup(func() { _ = received.Close() })
	sends := func(namespace, from, word string) {
		inside(t, namespace, func() error {
			c, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}).Dial("udp",
				"10.244.11.130:53")
			if err == nil {
				_, err = c.Write([]byte(word))
				_ = c.Close()
			}
			return err
		})
	}
	hears := func(limit time.Duration) string {
		_ = received.SetReadDeadline(time.Now().Add(limit))
		buffer := make([]byte, 64)
		n, _, err := received.ReadFrom(buffer)
		if err != nil {
			return ""
		}
		return string(buffer[:n])
	}
	mallory := l.namespace("mallory")
	l.plug(mallory, "eth0", l.prefix+"a", 1500, "10.0.0.66/24")
	l.ip(mallory, "address add "+machines[1].pod(0).String()+"/32 dev lo")
	// The machine has a second interface, which has no address.
	l.ip(m.namespace, "link add eth1 address 02:00:00:00:00:11 type veth peer name eth1 netns "+
		mallory)
	l.ip(m.namespace, "link set eth1 up")
	l.ip(mallory, "link set eth1 up")
	l.ip(mallory, "address add 10.9.9.66/24 dev eth1")
	l.ip(mallory, "neigh add 10.9.9.11 dev eth1 lladdr 02:00:00:00:00:11")
	guarded := func(family string) string {
		return l.ip(m.namespace, family+" rule show priority 99")
	}
	l.eventually(learned, func() error {
		if !strings.Contains(guarded("-4"), "iif eth1 blackhole") {
			return errors.New("eth1 is open")
		}
		return nil
	})
	spoof := func(way string) {
		l.ip(mallory, "route replace 10.244.11.0/24 via "+way)
		sends(mallory, machines[1].pod(0).String(), "spoofed")
	}
	ways := []string{"10.0.0.11", "10.9.9.11"}
	for _, way := range ways {
		spoof(way)
	}
	sends(machines[1].namespace, machines[1].pod(0).String(), "true")
	require.Equal(t, "true", hears(patience))
	require.Empty(t, hears(2*time.Second))
	for _, family := range []string{"-4", "-6"} {
		require.Equal(t, 2, strings.Count(guarded(family), "\n"), guarded(family))
		for line := range strings.Lines(guarded(family)) {
			require.Regexp(t, "iif eth[01] blackhole", line)
			l.ip(m.namespace, family+" rule del priority 99")
		}
	}
	for _, way := range ways {
		spoof(way)
		require.Equal(t, "spoofed", hears(patience), "the test sees what a stranger sends")
	}
}
