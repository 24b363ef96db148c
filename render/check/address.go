package check

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// listener is a port that a program opens on the machine.
type listener struct {
	source  string   // the setting that opens it, for messages
	program *program // nil if the program is not a static pod
	scheme  corev1.URIScheme
	address netip.AddrPort // an unspecified address means all of them
}

// overlaps reports whether l receives connections to an address and port, or would take them from
// another program that listens there.
func (l listener) overlaps(address netip.AddrPort) bool {
	a, b := l.address.Addr(), address.Addr()
	return l.address.Port() == address.Port() && (a == b || a.IsUnspecified() || b.IsUnspecified())
}

// addrPort reads an address and a port in numbers. An empty host means all addresses. It fails on
// names, except for localhost.
func addrPort(host, port string) (netip.AddrPort, error) {
	switch host {
	case "":
		host = "::"
	case "localhost":
		host = "127.0.0.1"
	}
	return netip.ParseAddrPort(net.JoinHostPort(host, port))
}

// splitURL splits the URL of a server. Parts that the URL does not have are empty.
func splitURL(rawURL string) (scheme corev1.URIScheme, host, port string) {
	s, rest, _ := strings.Cut(rawURL, "://")
	host, port, _ = net.SplitHostPort(rest)
	return corev1.URIScheme(strings.ToUpper(s)), host, port
}

// hostName returns the host of a URL. A server without a scheme is the host itself. It fails if the
// URL cannot be read or has no host.
func hostName(server string) (string, error) {
	if !strings.Contains(server, "://") {
		return server, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not the URL of a server", server)
	}
	return u.Hostname(), nil
}

// portString returns a port as flags and URLs write it.
func portString(port int32) string { return strconv.Itoa(int(port)) }
