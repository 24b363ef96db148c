package machine

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// AddrPort reads an address and a port in numbers. An empty host means all addresses. It fails on
// names, except for localhost.
func AddrPort(host, port string) (netip.AddrPort, error) {
	switch host {
	case "":
		host = "::"
	case "localhost":
		host = "127.0.0.1"
	}
	return netip.ParseAddrPort(net.JoinHostPort(host, port))
}

// SplitURL splits the URL of a server. Parts that the URL does not have are empty.
func SplitURL(rawURL string) (scheme corev1.URIScheme, host, port string) {
	s, rest, _ := strings.Cut(rawURL, "://")
	host, port, _ = net.SplitHostPort(rest)
	return corev1.URIScheme(strings.ToUpper(s)), host, port
}

// HostName returns the host of a URL. A server without a scheme is the host itself. It fails if the
// URL cannot be read or has no host.
func HostName(server string) (string, error) {
	if !strings.Contains(server, "://") {
		return server, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not the URL of a server", server)
	}
	return u.Hostname(), nil
}

// PortString returns a port as flags and URLs write it.
func PortString(port int32) string { return strconv.Itoa(int(port)) }
