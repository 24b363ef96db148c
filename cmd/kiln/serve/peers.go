package serve

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Peers are the networks from which documents may be fetched, beside each machine's own addresses.
type Peers struct {
	of map[string][]netip.Prefix // by the name of a machine or pool; "" stands for all of them
}

// everywhere is every address there is.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// ParsePeers reads networks. Each value is [NODE=]NETWORK[,NETWORK…], where NODE is a machine or a
// pool and a network is a prefix, an address, or "any". Without NODE it is for all. All that is
// wrong is in the error.
func ParsePeers(values []string) (Peers, error) {
	p := Peers{of: map[string][]netip.Prefix{}}
	var errs []error
	for _, value := range values {
		name, list, named := strings.Cut(value, "=")
		if !named {
			name, list = "", value
		}
		for text := range strings.SplitSeq(list, ",") {
			networks, err := network(text)
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

// network reads a prefix, an address, or any.
func network(text string) ([]netip.Prefix, error) {
	if text == "any" {
		return everywhere, nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}, nil
	}
	n, err := netip.ParsePrefix(text)
	switch {
	case err != nil || n.Addr().Is4In6():
		return nil, fmt.Errorf("%q is no network; write it like 10.0.0.0/24, 10.0.0.7 or any", text)
	case n != n.Masked():
		return nil, fmt.Errorf("%s: is it the network %s or the address %s?", text, n.Masked(), n.Addr())
	}
	return []netip.Prefix{n}, nil
}

// Any reports whether there is any network, for whatever machine.
func (p Peers) Any() bool { return len(p.of) > 0 }

// String lists the networks of each machine, those of all machines first.
func (p Peers) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		var texts []string
		for _, n := range p.of[name] {
			text := n.String()
			switch {
			case n.IsSingleIP():
				text = n.Addr().String()
			case n.Bits() == 0:
				text = "any IPv" + map[bool]string{true: "4", false: "6"}[n.Addr().Is4()]
			}
			texts = append(texts, text)
		}
		text := strings.Join(texts, ", ")
		text = strings.ReplaceAll(text, "any IPv4, any IPv6", "any")
		if name != "" {
			text = name + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// contains reports whether a is in one of the networks of a machine or pool, or of all.
func (p Peers) contains(name string, a netip.Addr) bool {
	in := func(n netip.Prefix) bool { return n.Contains(a) }
	return slices.ContainsFunc(p.of[""], in) || slices.ContainsFunc(p.of[name], in)
}

// peer returns the address of a request, or the zero address. IPv4 in IPv6 becomes IPv4; a zone is
// dropped.
func peer(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap().WithZone("")
}
