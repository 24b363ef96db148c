package templates_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"kiln/templates"
	"kiln/test/need"
)

// aRange is a random range of a pod subnet, the prefix length of its parts, and an address.
func aRange(r *rand.Rand, is4 bool) (span netip.Prefix, length int, a netip.Addr) {
	size := 16
	if is4 {
		size = 4
	}
	base, address := make([]byte, size), make([]byte, size)
	for i := range base {
		// Half of the groups are zero, so that runs of them are frequent.
		if i%2 == 0 && r.IntN(2) == 0 || i%2 == 1 && base[i-1] == 0 && r.IntN(3) > 0 {
			continue
		}
		base[i] = byte(r.Uint32())
	}
	for i := range address {
		address[i] = byte(r.Uint32())
	}
	base[0] |= 0x20 // no address of a machine begins with a zero
	bits := 8 + r.IntN(size*8-8-4)
	length = bits + r.IntN(min(16, size*8-4-bits)+1)
	whole, _ := netip.AddrFromSlice(base)
	a, _ = netip.AddrFromSlice(address)
	return netip.PrefixFrom(whole, bits).Masked(), length, a
}

// part is the part of a range with that number, bit by bit.
func part(span netip.Prefix, length, number int) netip.Prefix {
	base := span.Addr().AsSlice()
	for k := range length - span.Bits() {
		at := length - 1 - k
		base[at/8] |= byte(number >> k & 1 << (7 - at%8))
	}
	a, _ := netip.AddrFromSlice(base)
	return netip.PrefixFrom(a, length)
}

// number is the number of the part that follows from an address.
func number(span netip.Prefix, length int, a netip.Addr) int {
	low := a.AsSlice()
	return (int(low[len(low)-2])<<8 | int(low[len(low)-1])) & (1<<(length-span.Bits()) - 1)
}

// expanded is a range as /etc/kiln/parts has it.
func expanded(p netip.Prefix) string {
	return fmt.Sprintf("%s/%d", p.Addr().StringExpanded(), p.Bits())
}

// TestPartFollows: the part of a range that the shell computes from an address is that which Go
// computes, for random ranges of both families, in the text that the policy wants. If parts are
// taken it is the next free one.
func TestPartFollows(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		r := rand.New(rand.NewPCG(1, 2))
		var program, want strings.Builder
		program.WriteString("set -euf\nlib=/nowhere\n")
		program.WriteString(templates.Steps([]string{"parts"}, nil))
		for i := range 4000 {
			span, length, a := aRange(r, i%2 == 0)
			most := 1 << (length - span.Bits())
			n := number(span, length, a)
			taken, result := "", part(span, length, n).String()
			switch {
			case most == 1 && i%5 == 0:
				taken, result = " "+result+" ", "none"
			case most > 3 && i%5 == 0:
				for k := range 3 {
					taken += " " + part(span, length, (n+k)%most).String() + " "
				}
				result = part(span, length, (n+3)%most).String()
			}
			fmt.Fprintf(&program, "range=%s length=%d address=%s taken='%s'\n"+
				"free_part || cidr=none\necho $cidr\n", expanded(span), length, a, taken)
			fmt.Fprintln(&want, result)
		}
		cmd := exec.Command(need.Basic(t, shell[0]), append(shell[1:], "-s")...)
		cmd.Stdin = strings.NewReader(program.String())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, bytes.TrimSpace(out))
		}
		got, wanted := strings.Split(string(out), "\n"), strings.Split(want.String(), "\n")
		lines := strings.Split(program.String(), "range=")[1:]
		for i := range wanted {
			if i >= len(got) || got[i] != wanted[i] {
				t.Fatalf("%s\ngot %s, want %s", lines[i], got[min(i, len(got)-1)], wanted[i])
			}
		}
	})
}

// routed gives a machine of a pool the network of pods. It is not in its parts' entry yet.
func (m *aMachine) routed(steps string) {
	m.t.Helper()
	m.ofPool("-4 -6")
	m.data["steps"] = steps
	m.know("route-6", "2001:db8::1 from :: via fe80::1 dev eth0 proto ra src fd00::5 metric "+
		"100 pref medium\n")
	must(m.t, os.MkdirAll(m.root+networks, 0o700))
	m.at("/etc/kiln/parts", "10.244.128.0/17 24 auto\n"+
		"fd00:0010:0244:8000:0000:0000:0000:0000/49 64 auto\n")
	m.at("/etc/kiln/cni", `{"ranges": [[{"subnet": "10.244.128.0/17"}], [{"subnet": `+
		`"fd00:0010:0244:8000:0000:0000:0000:0000/49"}]]}`+"\n")
	m.at("/run/kiln-routes/entry.state", "this part is in the entry of blue-3\n")
}

const (
	networks   = "/etc/cni/net.d/"
	routedPool = "files machine preflight name kubelet node parts pods retire"
	entry      = "10.244.133.0/24 10.0.0.11 fd00:10:244:8005::/64 fd00::5\n"
)

// TestPoolGetsParts: the runtime of a pool's machine gets the network of pods when kiln-routes has
// the machine's parts of the pod subnets, which it may look for once the Node is the machine's.
func TestPoolGetsParts(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.routed(routedPool)
		m.document()
		const fault = "FAULT pod-network kiln-routes.service: this part is in the entry of " +
			"blue-3; see that parts of podCIDRs are free"
		m.wantOverdue(fault)
		if _, err := os.Stat(m.root + networks + "10-kiln.conflist"); err == nil ||
			m.read(m.root+"/var/lib/kiln/parts") != "" {
			t.Error("it has parts already")
		}
		m.at("/var/lib/kiln/parts", entry)
		m.at("/run/kiln-routes/entry.state", "ok\n")
		m.wantDone()
		want := `{"ranges": [[{"subnet": "10.244.133.0/24"}], [{"subnet": ` +
			`"fd00:10:244:8005::/64"}]]}` + "\n"
		if got := m.read(m.root + networks + "10-kiln.conflist"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}

		// Without its Node the machine must not look for parts.
		m = newMachine(t, shell, "worker")
		m.routed(routedPool)
		m.rule("GET", "*/api/v1/nodes/cp-1", 9999, 404, 0, "")
		m.document()
		m.wantOverdue("FAULT node-not-registered https://10.0.0.11:6443/api/v1/nodes/cp-1: " +
			"HTTP 404")
		if _, err := os.Stat(m.root + "/var/lib/kiln/parts"); err == nil {
			t.Error("it looks for parts")
		}
	})
}
