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
	range4 = "10.244.128.0/17 24 auto"
	range6 = "fd00:0010:0244:8000:0000:0000:0000:0000/49 64 auto"
)

// parts returns the parts of machines, as their entries have them.
func (l *lab) parts(machines ...*machine) (out []string) {
	for _, m := range machines {
		for i, p := range m.pods {
			out = append(out, p.String())
			require.Equal(l.t, m.addresses[i].String(),
				strings.Fields(l.api.state()[m.name])[2*i+1], m.name)
		}
	}
	return out
}

// TestPool: machines of a pool choose parts of their own. Those that start together with the same
// low bits of their addresses, in two networks, get different ones. They reach each other and named
// machines, before and after a reboot without an API server.
func TestPool(t *testing.T) {
	t.Parallel()
	l, machines := two(t, "auto", 1500)
	other := l.prefix + "b"
	join := func(name, segment string, subnet, low int) *machine {
		m := l.member(name, segment, server, []string{
			fmt.Sprintf("10.0.%d.%d/24", subnet, low),
			fmt.Sprintf("fd00:0:0:%d::%x/64", subnet, low),
		}, []string{range4, range6})
		l.ip(m.namespace, fmt.Sprintf("route add default via 10.0.%d.1", subnet))
		l.ip(m.namespace, fmt.Sprintf("route add default via fd00:0:0:%d::1", subnet))
		l.api.change(func() { l.api.nodes[name] = true })
		return m
	}
	pool := []*machine{
		join("blue-1", l.prefix+"a", 0, 21), join("blue-2", other, 1, 21),
		join("blue-3", other, 1, 22),
	}
	all := append(machines, pool...)
	start(all...)
	for _, m := range pool {
		m.parted()
	}
	t.Log("connected after", l.connected(learned, all...))
	require.ElementsMatch(t, []string{
		"10.244.149.0/24", "fd00:10:244:8015::/64", "10.244.150.0/24", "fd00:10:244:8016::/64",
		"10.244.151.0/24", "fd00:10:244:8017::/64",
	}, l.parts(pool...))

	l.api.stop()
	m := pool[1]
	before := m.routes()
	m.stop()
	for line := range strings.Lines(before) {
		l.ip(m.namespace, "route del "+strings.Fields(line)[0]+" proto 107")
	}
	l.ip(m.namespace, "link del kiln-vxlan")
	require.NoError(t, os.RemoveAll(m.root+"/run"))
	m.start()
	t.Log("back after", l.connected(learned, all...))
	require.Equal(t, before, m.routes())
}

// TestPoolWaits: a machine of a pool sets nothing before its Node is there, before it knows its
// address, and while no part is free. It says so, and goes on by itself.
func TestPoolWaits(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1")
	l.api.change(func() { l.api.nodes["blue-1"], l.api.nodes["blue-2"] = true, true })
	const narrow = "10.244.128.0/24 24 auto"
	first := l.member("blue-1", l.prefix+"a", server, []string{"10.0.0.21/24"}, []string{narrow})
	second := l.member("blue-2", l.prefix+"a", server, []string{"10.0.0.22/24"}, []string{narrow})
	says := func(m *machine, what string) {
		t.Helper()
		l.eventually(learned, func() error {
			if !strings.Contains(m.log.String(), "no other machine learns of this one: "+what) {
				return fmt.Errorf("it does not say %s: %s", what, m.log)
			}
			return nil
		})
		require.Empty(t, m.routes())
		require.NotContains(t, l.ip(m.namespace, "address show dev lo"), "10.244.")
	}
	require.NoError(t, os.Remove(second.root+"/var/lib/kiln/parts"))
	require.NoError(t, os.Remove(first.root+"/var/lib/kiln/node-ip"))
	start(machines[0], first, second)
	says(first, "its Node is not there yet")
	says(second, "its Node is not there yet")
	require.NotContains(t, l.api.state(), "blue-1")
	first.moves("10.0.0.21/24")
	first.parted()
	second.write("/var/lib/kiln/parts", "")
	says(second, "no part of 10.244.128.0/24 is free")
	first.stop()
	l.api.change(func() { delete(l.api.nodes, "blue-1") })
	second.parted()
	t.Log("connected after", l.connected(learned, machines[0], second))
}

// TestPoolMoves: a machine of a pool gets another address, and keeps its parts; a wiped one gets
// them again. The others follow, through VXLAN as well.
func TestPoolMoves(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"auto", "vxlan"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l, machines := one(t, way, "cp-1", "w-1")
			l.api.change(func() { l.api.nodes["blue-1"] = true })
			m := l.member("blue-1", l.prefix+"a", server, []string{"10.0.0.21/24"},
				[]string{strings.Replace(range4, "auto", way, 1)})
			all := append(machines, m)
			start(all...)
			m.parted()
			l.connected(learned, all...)

			l.ip(m.namespace, "address add 10.0.0.42/24 dev eth0")
			l.ip(m.namespace, "address del 10.0.0.21/24 dev eth0")
			l.ip(m.namespace, "address add 10.0.0.42/24 dev eth0")
			m.moves("10.0.0.42/24")
			t.Log("moved after", l.connected(learned, all...))
			require.Equal(t, "10.244.149.0/24 10.0.0.42", l.api.state()["blue-1"])

			m.stop()
			require.NoError(t, os.Remove(m.root+"/var/lib/kiln/routes"))
			m.write("/var/lib/kiln/parts", "")
			m.start()
			m.pods = nil
			l.ip(m.namespace, "address del 10.244.149.5/32 dev lo")
			m.parted()
			require.Equal(t, netip.MustParsePrefix("10.244.149.0/24"), m.pods[0])
			time.Sleep(time.Second)
			require.NotContains(t, m.log.String(), "another machine with this name")
		})
	}
}

// TestPoolNames: a dot in a name is a dot. The entry of a machine with another character in its
// place is another machine's.
func TestPoolNames(t *testing.T) {
	t.Parallel()
	l, machines := one(t, "auto", "cp-1", "w-1", "w.1")
	l.api.change(func() { l.api.nodes["blue-1"], l.api.nodes["blue.1"] = true, true })
	start(machines...)
	for i, name := range []string{"blue-1", "blue.1"} {
		m := l.member(name, l.prefix+"a", server, []string{fmt.Sprintf("10.0.0.%d/24", 21+i)},
			[]string{range4})
		m.start()
		m.parted()
		machines = append(machines, m)
	}
	t.Log("connected after", l.connected(learned, machines...))
	require.Len(t, l.api.state(), 5)
}
