// Package cni writes the network that a machine's pods have with network.cni routed: the
// configuration of a bridge whose addresses come from the machine's own pod CIDRs, and the data of
// kiln-routes.service. templates describes the formats of the latter.
package cni

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// Config returns the list of plugins as containerd reads it. The plugins are among those that
// containerd's packages bring. An mtu of 0 leaves it to the plugin.
func Config(cidrs []netip.Prefix, mtu int) (string, error) {
	return config(cidrs, netip.Prefix.String, mtu)
}

// PoolConfig returns Config for machines that choose their pod CIDRs, with their ranges as Parts
// writes them in the place of these.
func PoolConfig(ranges []netip.Prefix, mtu int) (string, error) {
	return config(ranges, expanded, mtu)
}

func config(cidrs []netip.Prefix, text func(netip.Prefix) string, mtu int) (string, error) {
	type m = map[string]any
	var ranges, routes []any
	for _, cidr := range cidrs {
		ranges = append(ranges, []any{m{"subnet": text(cidr)}})
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

// Routes returns /etc/kiln/routes: a line for each pod CIDR, with the machine's address of its
// family and the way in which packets of pods leave the machine.
func Routes(cidrs []netip.Prefix, addresses []netip.Addr, way string) string {
	var b strings.Builder
	for i, cidr := range cidrs {
		fmt.Fprintf(&b, "%s %s %s\n", cidr, addresses[i], way)
	}
	return b.String()
}

// Parts returns /etc/kiln/parts: a line for each range, with the prefix length of the part that a
// machine chooses in it, and the way in which packets of pods leave the machine.
func Parts(ranges []netip.Prefix, lengths []int, way string) string {
	var b strings.Builder
	for i, p := range ranges {
		fmt.Fprintf(&b, "%s %d %s\n", expanded(p), lengths[i], way)
	}
	return b.String()
}

// Masquerade returns /etc/kiln/masquerade: a line for each pod CIDR, with the pod subnet around it.
func Masquerade(cidrs, subnets []netip.Prefix) string {
	var b strings.Builder
	for i, cidr := range cidrs {
		family := "ip6" // as ip and nft call it
		if cidr.Addr().Is4() {
			family = "ip"
		}
		fmt.Fprintf(&b, "%s %s %s\n", family, cidr, subnets[i])
	}
	return b.String()
}

// expanded returns a network without the abbreviations of IPv6, which a shell reads with ease.
func expanded(p netip.Prefix) string {
	return fmt.Sprintf("%s/%d", p.Addr().StringExpanded(), p.Bits())
}
