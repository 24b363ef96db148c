package config

import (
	"net/netip"
	"slices"
	"strings"
)

// special are the networks that have a meaning of their own, so no cluster can use them.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "the unspecified addresses"},
	{netip.MustParsePrefix("127.0.0.0/8"), "the loopback addresses"},
	{
		netip.MustParsePrefix("169.254.0.0/16"),
		"the link-local addresses, where platforms serve their metadata",
	},
	{netip.MustParsePrefix("224.0.0.0/4"), "the multicast addresses"},
	{netip.MustParsePrefix("240.0.0.0/4"), "the reserved addresses"},
	{netip.MustParsePrefix("::/127"), "the unspecified and loopback addresses"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4 addresses written as IPv6"},
	{netip.MustParsePrefix("fe80::/10"), "the link-local addresses"},
	{netip.MustParsePrefix("ff00::/8"), "the multicast addresses"},
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func family(is4 bool) string {
	if is4 {
		return "IPv4"
	}
	return "IPv6"
}

// specialUse returns the special addresses that a network overlaps, "" if it overlaps none.
func specialUse(p netip.Prefix) string {
	for _, s := range special {
		if s.prefix.Overlaps(p) {
			return s.what
		}
	}
	return ""
}

// families returns the names of the networks' families, "" if a network is not valid.
func families(list []netip.Prefix) string {
	names := make([]string, len(list))
	for i, p := range list {
		if !p.IsValid() {
			return ""
		}
		names[i] = family(p.Addr().Is4())
	}
	return strings.Join(names, " and ")
}

func isEdge(p netip.Prefix, a netip.Addr) bool {
	return a.Is4() && p.Bits() < 31 && (a == p.Masked().Addr() || a == lastOf(p))
}

func addressProblem(a netip.Addr) string {
	switch {
	case a.Zone() != "":
		return "has a zone; write an address that all machines can reach"
	case a.Is4In6():
		return "is an IPv4 address written as IPv6; write " + a.Unmap().String()
	case a == broadcast:
		return "is the broadcast address; write the machine's own"
	}
	if what := specialUse(netip.PrefixFrom(a, a.BitLen())); what != "" {
		return "belongs to " + what + "; write an address that all machines can reach"
	}
	return ""
}

func notAddress(text string) string {
	if p, err := netip.ParsePrefix(text); err == nil {
		return "has a prefix length; write the address alone: " + p.Addr().String()
	}
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return "has a port; write the address alone: " + ap.Addr().String()
	}
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return "has brackets; write " + a.String()
	}
	return "is not an IP address; write it like 10.0.0.30"
}

// lastOf returns the last address of an IPv4 network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(b)
}

func allAddresses(is4 bool) netip.Prefix {
	if is4 {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

func ownAddress(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Addr() == a })
}

func networks(list []netip.Prefix) string {
	if len(list) == 0 {
		return "it has no addresses"
	}
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = p.Masked().String()
	}
	return strings.Join(texts, ", ")
}
