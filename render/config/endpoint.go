package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// cutPort cuts what may be meant as a port off an IPv6 address; port is "" if nothing there may.
func cutPort(address string) (host, port string) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return address, ""
	}
	n, err := strconv.Atoi(address[i+1:])
	if _, wrong := netip.ParseAddr(address[:i]); err != nil || wrong != nil || n < 443 {
		return address, ""
	}
	return address[:i], address[i+1:]
}

// splitEndpoint splits an endpoint into host and port. The host is a name, an IPv4 address, or an
// IPv6 address without brackets; the port is 6443 if there is none. The error comes for any other
// form. The name is not checked.
func splitEndpoint(endpoint string) (host string, port int, err error) {
	switch {
	case strings.Contains(endpoint, "://"):
		return "", 0, fmt.Errorf("has a scheme; write host or host:port alone")
	case strings.Contains(endpoint, "/"):
		return "", 0, fmt.Errorf("has a path; write host or host:port alone")
	case strings.Contains(endpoint, "@"):
		return "", 0, fmt.Errorf("has a user; write host or host:port alone")
	}
	if a, err := netip.ParseAddr(endpoint); err == nil {
		if host, port := cutPort(endpoint); port != "" {
			return "", 0, fmt.Errorf("may be the address %s with the port %s, or an address "+
				"alone; write [%s]:%s or [%s]", host, port, host, port, endpoint)
		}
		return a.String(), target.APIServerPort, nil
	}
	host, digits, hasPort := endpoint, "", false
	if rest, ok := strings.CutPrefix(endpoint, "["); ok {
		var after string
		if host, after, ok = strings.Cut(rest, "]"); !ok || after != "" && after[0] != ':' {
			return "", 0, fmt.Errorf("is not host:port; write an IPv6 address with port like " +
				"[fd00::1]:6443")
		}
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return "", 0, fmt.Errorf("has no IPv6 address in its brackets; " +
				"write it like [fd00::1]:6443")
		}
		digits, hasPort = strings.CutPrefix(after, ":")
	} else {
		host, digits, hasPort = strings.Cut(endpoint, ":")
	}
	if host == "" {
		return "", 0, fmt.Errorf("has no host; write host or host:port")
	}
	if !hasPort {
		return host, target.APIServerPort, nil
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 1 || port > 65535 || digits[0] == '+' || digits[0] == '0' {
		return "", 0, fmt.Errorf("has the port %s; write a number from 1 to 65535", quote(digits))
	}
	return host, port, nil
}
