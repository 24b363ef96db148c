package serve

import (
	"fmt"
	"net/netip"
	"regexp"
)

// dnsName matches a host name that a certificate can have.
var dnsName = regexp.MustCompile(
	`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// TLSNames returns the names of the server for its TLS certificate: those given with --tls-name or,
// without them, the host of listen. It fails if a certificate cannot have them.
func TLSNames(listen, host string, names []string) ([]string, error) {
	if len(names) == 0 {
		addr, err := netip.ParseAddr(host)
		if host == "" || err == nil && addr.IsUnspecified() {
			return nil, fmt.Errorf("--listen %s: says no address by which machines reach "+
				"it; name it with --tls-name boot.example.com", listen)
		}
		names = []string{host}
	}
	for _, name := range names {
		if _, err := netip.ParseAddr(name); err != nil && !dnsName.MatchString(name) {
			return nil, fmt.Errorf("--tls-name %s: neither a host name nor an IP address", name)
		}
	}
	return names, nil
}

// IsLoopback reports whether a host is this computer's loopback.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
