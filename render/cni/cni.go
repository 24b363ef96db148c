// Package cni writes the configuration of the network that a machine's pods have with network.cni
// routed: a bridge whose addresses come from the machine's own pod CIDRs.
package cni

import (
	"encoding/json"
	"net/netip"
)

// Config returns the list of plugins as containerd reads it. The plugins are among those that
// containerd's packages bring. An mtu of 0 leaves it to the plugin.
func Config(cidrs []netip.Prefix, mtu int) (string, error) {
	type m = map[string]any
	var ranges, routes []any
	for _, cidr := range cidrs {
		ranges = append(ranges, []any{m{"subnet": cidr.String()}})
		dst := "0.0.0.0/0"
		if cidr.Addr().Is6() {
			dst = "::/0"
		}
		routes = append(routes, m{"dst": dst})
	}
	bridge := m{
		"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
		"ipam": m{"type": "host-local", "ranges": ranges, "routes": routes},
	}
	if mtu != 0 {
		bridge["mtu"] = mtu
	}
	out, err := json.MarshalIndent(m{
		"cniVersion": "1.0.0", "name": "kiln",
		"plugins": []any{bridge, m{"type": "portmap", "capabilities": m{"portMappings": true}}},
	}, "", "  ")
	return string(out) + "\n", err
}
