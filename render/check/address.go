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
	source  string   // who says so
	program *program // nil for what is no static pod
	scheme  corev1.URIScheme
	address netip.AddrPort
}

// overlaps says whether l is at that address and port, or takes it from whoever else would be.
func (l listener) overlaps(at netip.AddrPort) bool {
	a, b := l.address.Addr(), at.Addr()
	return l.address.Port() == at.Port() && (a == b || a.IsUnspecified() || b.IsUnspecified())
}

// addrPort reads an address and a port in numbers. No address means all.
func addrPort(host, port string) (netip.AddrPort, error) {
	switch host {
	case "":
		host = "::"
	case "localhost":
		host = "127.0.0.1"
	}
	return netip.ParseAddrPort(net.JoinHostPort(host, port))
}

// splitURL splits the URL of a server without a path.
func splitURL(rawURL string) (scheme corev1.URIScheme, host, port string) {
	s, rest, _ := strings.Cut(rawURL, "://")
	host, port, _ = net.SplitHostPort(rest)
	return corev1.URIScheme(strings.ToUpper(s)), host, port
}

// hostName returns the host of a URL, or of a host alone.
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

func portString(port int32) string { return strconv.Itoa(int(port)) }
