package plan

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// The loopback addresses.
var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.IPv6Loopback()
)

func loopback(a netip.Addr) netip.Addr {
	if a.Is4() {
		return loopback4
	}
	return loopback6
}

// nth returns the n-th address of p, counted from its network address.
func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Addr()
	for range n {
		a = a.Next()
	}
	return a
}

func url(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

func join(list []netip.Prefix) string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.String()
	}
	return strings.Join(out, ",")
}
