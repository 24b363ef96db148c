package serve

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Peers are the networks that may fetch documents, beside each machine's own addresses.
type Peers struct {
	of map[string][]netip.Prefix // by machine or pool; those of "" may fetch every document
}

// everywhere are all addresses.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// ParsePeers parses the values of --from. Each value is [NODE=]NETWORK[,NETWORK…]: NODE is a
// machine or a pool, or missing for all of them, and NETWORK is a prefix, an address, or "any". The
// error holds everything that is wrong.
func ParsePeers(values []string) (Peers, error) {
	p := Peers{of: map[string][]netip.Prefix{}}
	var errs []error
	for _, value := range values {
		name, list, named := strings.Cut(value, "=")
		if !named {
			name, list = "", value
		}
		for part := range strings.SplitSeq(list, ",") {
			networks, err := parseNetwork(part)
			if named && name == "" {
				err = errors.New("want the name of a machine or pool before =")
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("--from %s: %w", value, err))
				continue
			}
			p.of[name] = append(p.of[name], networks...)
		}
	}
	return p, errors.Join(errs...)
}

// parseNetwork parses a prefix, an address, or "any".
func parseNetwork(value string) ([]netip.Prefix, error) {
	if value == "any" {
		return everywhere, nil
	}
	if a, err := netip.ParseAddr(value); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}, nil
	}
	n, err := netip.ParsePrefix(value)
	switch {
	case err != nil || n.Addr().Is4In6():
		return nil, fmt.Errorf("%q is no network; write it like 10.0.0.0/24, 10.0.0.7 or any",
			value)
	case n != n.Masked():
		return nil, fmt.Errorf("%s: is it the network %s or the address %s?",
			value, n.Masked(), n.Addr())
	}
	return []netip.Prefix{n}, nil
}

// Any reports whether there is a network, for one machine or for all.
func (p Peers) Any() bool { return len(p.of) > 0 }

// String lists the networks of each machine, those for all machines first.
func (p Peers) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		var networks []string
		for _, n := range p.of[name] {
			networks = append(networks, networkName(n))
		}
		list := strings.ReplaceAll(strings.Join(networks, ", "), "any IPv4, any IPv6", "any")
		if name != "" {
			list = name + ": " + list
		}
		parts = append(parts, list)
	}
	return strings.Join(parts, "; ")
}

// networkName returns the words for a network: a prefix, an address, or any of a family.
func networkName(n netip.Prefix) string {
	switch {
	case n.IsSingleIP():
		return n.Addr().String()
	case n.Bits() > 0:
		return n.String()
	case n.Addr().Is4():
		return "any IPv4"
	}
	return "any IPv6"
}

// contains reports whether a network of the machine or pool, or one for all machines, contains a.
func (p Peers) contains(name string, a netip.Addr) bool {
	in := func(n netip.Prefix) bool { return n.Contains(a) }
	return slices.ContainsFunc(p.of[""], in) || slices.ContainsFunc(p.of[name], in)
}

// containAny reports whether a network of any machine or pool contains a.
func (p Peers) containAny(a netip.Addr) bool {
	for name := range p.of {
		if p.contains(name, a) {
			return true
		}
	}
	return false
}

// peer returns the address of a client. IPv4 in IPv6 becomes IPv4, and a zone is dropped. If remote
// is malformed, peer returns the zero address.
func peer(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap().WithZone("")
}
