// Package network_test holds kiln-routes.service to what network.cni routed promises, with real
// iproute2 and curl in network namespaces.
package network_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	server = "https://10.0.0.5:6443"
	// learned is the longest time until every machine has the route to a new one.
	learned = time.Minute
)

// one returns machines on one segment with the API server.
func one(t *testing.T, way string, names ...string) (l *lab, machines []*machine) {
	t.Helper()
	l = newLab(t, names...)
	segment := l.segment("a")
	l.serve(segment, "10.0.0.5/24")
	for i, name := range names {
		machines = append(machines, l.machine(name, segment, server, way, 1500,
			[]string{fmt.Sprintf("10.0.0.%d/24", 11+i)},
			[]string{fmt.Sprintf("10.244.%d.0/24", 11+i)}))
	}
	return l, machines
}

// two returns three machines on two segments, the last one alone on the second. A router between
// them drops packets whose sender is on neither, such as a pod.
func two(t *testing.T, way string, mtu int) (l *lab, machines []*machine) {
	t.Helper()
	names := []string{"cp-1", "w-1", "w-2"}
	l = newLab(t, names...)
	a, b := l.segment("a"), l.segment("b")
	router := l.namespace("router")
	l.plug(router, "eth0", a, mtu, "10.0.0.1/24", "fd00::1/64")
	l.plug(router, "eth1", b, mtu, "10.0.1.1/24", "fd00:0:0:1::1/64")
	for _, command := range []string{
		"sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
		"sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.eth0.rp_filter=1",
		"sysctl -qw net.ipv4.conf.eth1.rp_filter=1",
	} {
		_, err := (&machine{lab: l, namespace: router}).exec(command)
		require.NoError(t, err)
	}
	l.ip(router, "-6 rule add from fd00:10:244::/48 prohibit")
	l.serve(a, "10.0.0.5/24")
	l.ip(l.prefix+"api", "route add default via 10.0.0.1")
	for i, name := range names {
		segment, number := a, 0
		if i == 2 {
			segment, number = b, 1
		}
		m := l.machine(name, segment, server, way, mtu,
			[]string{
				fmt.Sprintf("10.0.%d.%d/24", number, 11+i),
				fmt.Sprintf("fd00:0:0:%d::%d/64", number, 11+i),
			},
			[]string{
				fmt.Sprintf("10.244.%d.0/24", 11+i), fmt.Sprintf("fd00:10:244:%d::/64", 11+i),
			})
		l.ip(m.namespace, fmt.Sprintf("route add default via 10.0.%d.1", number))
		l.ip(m.namespace, fmt.Sprintf("route add default via fd00:0:0:%d::1", number))
		machines = append(machines, m)
	}
	return l, machines
}

func start(machines ...*machine) {
	for _, m := range machines {
		m.start()
	}
}

// TestDirect: machines on one segment need no VXLAN. A machine that comes later is known to all
// others within a minute, and no file of theirs changes.
func TestDirect(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1", "w-2", "w-3")
	start(machines[:3]...)
	t.Log("connected after", l.connected(learned, machines[:3]...))
	start(machines[3])
	t.Log("a fourth one after", l.connected(learned, machines...))
	for _, m := range machines {
		require.NotContains(t, m.routes(), "kiln-vxlan")
		require.Equal(t, 3, strings.Count(m.routes(), "\n"))
	}
}

// TestEarly: a machine starts before there is an API server, and before its own Node.
func TestEarly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	segment := l.segment("a")
	var machines []*machine
	for i, name := range []string{"cp-1", "w-1"} {
		machines = append(machines, l.machine(name, segment, server, "auto", 1500,
			[]string{fmt.Sprintf("10.0.0.%d/24", 11+i)},
			[]string{fmt.Sprintf("10.244.%d.0/24", 11+i)}))
	}
	start(machines...)
	l.eventually(learned, func() error {
		if said := machines[0].log.String(); !strings.Contains(said,
			"the API server does not hand out the entries: curl: ") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	l.serve(segment, "10.0.0.5/24")
	l.eventually(learned, func() error {
		if said := machines[0].log.String(); !strings.Contains(said,
			"its Node is not registered yet") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	require.Empty(t, l.api.state())
	l.api.change(func() { l.api.nodes["cp-1"], l.api.nodes["w-1"] = true, true })
	t.Log("connected after", l.connected(learned, machines...))
	require.Equal(t, 1, strings.Count(machines[0].log.String(), "keeping the network of pods"))
}

// TestSegments: packets of pods pass a router that drops them otherwise, and those between machines
// of one segment take the direct way.
func TestSegments(t *testing.T) {
	t.Parallel()
	for _, mtu := range []int{1500, 1450} {
		l, machines := two(t, "auto", mtu)
		start(machines...)
		t.Log(mtu, "connected after", l.connected(learned, machines...))
		require.Contains(t, machines[0].routes(), "10.244.12.0/24 via 10.0.0.12 dev eth0")
		require.Contains(t, machines[0].routes(), "fd00:10:244:12::/64 via fd00::12 dev eth0")
		require.Contains(t, machines[0].routes(), "dst 10.0.1.13")
		require.Contains(t, machines[0].routes(), "dst fd00:0:0:1::13")
		require.Contains(t, l.ip(machines[0].namespace, "link show kiln-vxlan"),
			fmt.Sprintf("mtu %d ", mtu-70))
		for _, m := range l.machines {
			m.stop()
		}
		l.clear()
	}
}

// TestFamilies: VXLAN everywhere, over IPv4 alone, IPv6 alone, and with IPv6 first.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(i int) (addresses, pods []string){
		"v4": func(i int) (addresses, pods []string) {
			return []string{fmt.Sprintf("10.0.0.%d/24", i)},
				[]string{fmt.Sprintf("10.244.%d.0/24", i)}
		},
		"v6": func(i int) (addresses, pods []string) {
			return []string{fmt.Sprintf("fd00::%d/64", i)},
				[]string{fmt.Sprintf("fd00:10:244:%d::/64", i)}
		},
		"v6v4": func(i int) (addresses, pods []string) {
			return []string{fmt.Sprintf("fd00::%d/64", i), fmt.Sprintf("10.0.0.%d/24", i)},
				[]string{
					fmt.Sprintf("fd00:10:244:%d::/64", i), fmt.Sprintf("10.244.%d.0/24", i),
				}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, "cp-1", "w-1")
			segment := l.segment("a")
			api := server
			if name == "v4" {
				l.serve(segment, "10.0.0.5/24")
			} else {
				l.serve(segment, "fd00::5/64")
				api = "https://[fd00::5]:6443"
			}
			var machines []*machine
			for i, name := range []string{"cp-1", "w-1"} {
				addresses, pods := of(11 + i)
				machines = append(machines,
					l.machine(name, segment, api, "vxlan", 1500, addresses, pods))
			}
			start(machines...)
			t.Log("connected after", l.connected(learned, machines...))
			require.NotContains(t, machines[0].routes(), "dev eth0")
		})
	}
}

// TestAway: without an API server a machine keeps what it knew, also after a reboot.
func TestAway(t *testing.T) {
	t.Parallel()
	l, machines := two(t, "auto", 1500)
	start(machines...)
	l.connected(learned, machines...)
	l.api.stop()
	m := machines[0]
	before := m.routes()
	m.stop()
	for line := range strings.Lines(before) {
		l.ip(m.namespace, "route del "+strings.Fields(line)[0]+" proto 107")
	}
	l.ip(m.namespace, "link del kiln-vxlan")
	require.NoError(t, os.RemoveAll(m.root+"/run"))
	m.start()
	t.Log("back after", l.connected(learned, machines...))
	require.Equal(t, before, m.routes())
	require.Contains(t, m.log.String(), "the API server does not hand out the entries")
}

// TestForgotten: an API server that remembers no old versions, such as one that has just started,
// is asked no more often than another.
func TestForgotten(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1")
	start(machines...)
	l.connected(learned, machines...)
	l.api.stop()
	l.api.forget()
	l.serve(l.prefix+"a", "10.0.0.5/24")
	before, _ := l.api.asked()
	l.eventually(learned, func() error {
		if reads, _ := l.api.asked(); reads < before+2 {
			return fmt.Errorf("%d reads", reads-before)
		}
		return nil
	})
	before, _ = l.api.asked()
	time.Sleep(10 * time.Second)
	reads, _ := l.api.asked()
	require.LessOrEqual(t, reads-before, 2)
}

// TestQuiet: entries that do not change are not read again.
func TestQuiet(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1")
	start(machines...)
	l.connected(learned, machines...)
	// Both have entered their parts, and wait.
	time.Sleep(5 * time.Second)
	reads, watches := l.api.asked()
	time.Sleep(time.Minute)
	readsNow, watchesNow := l.api.asked()
	require.Equal(t, reads, readsNow)
	require.GreaterOrEqual(t, watchesNow, watches+2)
}

// TestReplaced: a machine comes back with another address, and the others follow.
func TestReplaced(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1", "w-2")
	start(machines[:2]...)
	l.connected(learned, machines[:2]...)
	machines[1].stop()
	l.ip(machines[1].namespace, "link set eth0 down")
	again := machines[2]
	again.write("/etc/kiln/machine", facts("w-1", "worker", server))
	again.start()
	t.Log("reached after", l.connected(learned, machines[0], again))
	require.NotContains(t, machines[0].routes(), "10.244.12.0/24")
	require.Equal(t, map[string]string{
		"cp-1": "10.244.11.0/24 10.0.0.11", "w-1": "10.244.13.0/24 10.0.0.13",
	}, l.api.state())
}

// TestSameName: of two machines with one name, the one that started last has the entry. The other
// one says so, and they do not write by turns.
func TestSameName(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1", "w-2")
	machines[2].write("/etc/kiln/machine", facts("w-1", "worker", server))
	start(machines[:2]...)
	l.connected(learned, machines[:2]...)
	machines[2].start()
	l.eventually(learned, func() error {
		if !strings.Contains(machines[1].log.String(), "no other machine learns of this one: "+
			"another machine with this name has entered 10.244.13.0/24 10.0.0.13") {
			return fmt.Errorf("it does not say so: %s", machines[1].log)
		}
		return nil
	})
	time.Sleep(6 * time.Second)
	require.Equal(t, "10.244.13.0/24 10.0.0.13", l.api.state()["w-1"])
	require.Equal(t, 1, l.api.writers["system:node:w-1"])
	require.Equal(t, 1, l.api.writers["system:node:w-2"])
}

// TestGone: when a Node is removed its entry and the routes to it go, and another machine gets its
// part of the pod subnet.
func TestGone(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "vxlan", "cp-1", "w-1", "w-2")
	start(machines[:2]...)
	l.connected(learned, machines[:2]...)
	heir := l.machine("heir", l.prefix+"a", server, "vxlan", 1500, []string{"10.0.0.20/24"},
		[]string{"10.244.12.0/24"})
	l.api.change(func() { l.api.nodes["heir"] = true })
	heir.start()
	l.eventually(learned, func() error {
		if !strings.Contains(heir.log.String(), "it is in the entry of w-1") {
			return fmt.Errorf("it does not say who has it: %s", heir.log)
		}
		return nil
	})
	machines[1].stop()
	l.api.change(func() { delete(l.api.nodes, "w-1") })
	t.Log("taken over after", l.connected(learned, machines[0], heir))
	require.Contains(t, machines[0].log.String(),
		`removing the entries of machines without a Node: "w-1":null`)
	require.Contains(t, machines[0].routes(), "dst 10.0.0.20")
	l.api.change(func() { delete(l.api.nodes, "heir") })
	l.eventually(learned, func() error {
		if routes := machines[0].routes(); routes != "" {
			return fmt.Errorf("it keeps %s", routes)
		}
		return nil
	})
}

// TestBroken: a router that drops the packets of pods is named, on both sides; a machine that is
// off is none of the network's business.
func TestBroken(t *testing.T) {
	t.Parallel()
	l, machines := two(t, "auto", 1500)
	start(machines...)
	l.connected(learned, machines...)
	// A firewall that nobody has opened.
	l.ip(l.prefix+"router", "rule add ipproto udp dport 4789 prohibit")
	l.ip(l.prefix+"router", "-6 rule add ipproto udp dport 4789 prohibit")
	l.eventually(learned, func() error {
		said := machines[2].log.String()
		state, err := os.ReadFile(machines[2].root + "/run/kiln-routes/pods.state")
		if err != nil || string(state) == "ok\n" ||
			!strings.Contains(said, "pods of other machines cannot be reached: ") ||
			!strings.Contains(said,
				"cp-1 answers at 10.0.0.11 and not at 10.244.11.0; cp-1 answers at fd00::11 and "+
					"not at fd00:10:244:11::; w-1 answers at 10.0.0.12 and not at 10.244.12.0; "+
					"w-1 answers at fd00::12 and not at fd00:10:244:12::;\n") {
			return fmt.Errorf("it does not say so: %s%s", state, said)
		}
		return nil
	})
	l.ip(l.prefix+"router", "rule del ipproto udp dport 4789 prohibit")
	l.ip(l.prefix+"router", "-6 rule del ipproto udp dport 4789 prohibit")
	l.eventually(learned, func() error {
		if !strings.Contains(machines[2].log.String(), "cannot be reached: solved") {
			return fmt.Errorf("it does not take it back: %s", machines[2].log)
		}
		return nil
	})
}

// TestStrange: entries with addresses that are no machine's cost their own pods the direct way, and
// nobody else's.
func TestStrange(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1", "w-2")
	l.api.change(func() {
		for i, address := range []string{
			"10.0.0.255", "255.255.255.255", "10.0.0.0", "127.0.0.1", "192.0.2.1",
			"10.0.0.012", "10.0.0.12/32", "10.0.0.b", "::ffff:10.0.0.1", "::1", "x", "",
		} {
			l.api.entries[fmt.Sprintf("a-%d", i)] = fmt.Sprintf("10.244.%d.0/24 %s", 90+i, address)
		}
	})
	start(machines...)
	t.Log("connected after", l.connected(learned, machines...))
	for _, m := range machines {
		for _, other := range machines {
			if other != m {
				require.Contains(t, m.routes(), fmt.Sprintf("%s via %s dev eth0", other.pods[0],
					other.addresses[0]))
			}
		}
	}
}

// TestUnset: a route that the kernel refuses is named with the kernel's reason.
func TestUnset(t *testing.T) {
	t.Parallel()
	l, machines := two(t, "direct", 1500)
	start(machines...)
	l.eventually(learned, func() error {
		said := machines[0].log.String()
		state, err := os.ReadFile(machines[0].root + "/run/kiln-routes/routes.state")
		if err != nil || string(state) == "ok\n" ||
			!strings.Contains(said, "routes that cannot be set: ") ||
			!strings.Contains(said, "; route replace 10.244.13.0/24 via 10.0.1.13 proto 107: "+
				"Error: Nexthop has invalid gateway.") {
			return fmt.Errorf("it does not say so: %s%s", state, said)
		}
		return nil
	})
}

// TestThousand: a thousand other machines take no long time, and few questions.
func TestThousand(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "vxlan", "w-1")
	address, pods := netip.MustParseAddr("10.0.4.1"), netip.MustParseAddr("10.244.0.0")
	l.api.change(func() {
		for i := range 1000 {
			b := pods.As4()
			b[1], b[2] = b[1]+byte((i+20)>>8), byte(i+20)
			l.api.entries[fmt.Sprintf("worker-%d", i)] = fmt.Sprintf("%s/24 %s",
				netip.AddrFrom4(b), address)
			address = address.Next()
		}
	})
	begin := time.Now()
	start(machines...)
	l.eventually(learned, func() error {
		if n := strings.Count(machines[0].routes(), "\n"); n != 1000 {
			return fmt.Errorf("%d routes", n)
		}
		return nil
	})
	t.Log("set after", time.Since(begin))
	reads, watches := l.api.asked()
	t.Logf("%d reads of the entries, %d watches", reads, watches)
	require.Less(t, reads, 4)
}
