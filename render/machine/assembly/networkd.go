package assembly

import (
	"strconv"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// networkdFiles returns the files of an interface for systemd-networkd: a .netdev file if it is a
// bond or a VLAN (systemd.netdev(5)), and a .network file with its addresses and routes
// (systemd.network(5)). Everybody may read them, because networkd does not run as root.
func networkdFiles(n *plan.Interface) (files []node.File) {
	if b := netdev(n); b != nil {
		path := networkdPath(n, "netdev")
		files = append(files, b.file(path, 0o644, "the interface is made of others"))
	}
	var b ini
	b.section("Match")
	b.set("Name", n.Name)
	b.section("Link")
	b.set("MTUBytes", numberOrEmpty(n.MTU))
	b.section("Network")
	if n.Master != "" {
		b.set("Bond", n.Master)
		if n.Primary {
			b.set("PrimarySlave", "true")
		}
	} else {
		dhcp := map[[2]bool]string{
			{true, true}: "yes", {true, false}: "ipv4", {false, true}: "ipv6", {}: "no",
		}
		b.set("DHCP", dhcp[[2]bool{n.DHCP4, n.DHCP6}])
		b.set("IPv6AcceptRA", map[bool]string{true: "yes", false: "no"}[n.DHCP6])
		b.set("Address", stringsOf(n.Addresses)...)
		b.set("DNS", stringsOf(n.DNS)...)
		b.set("Domains", strings.Join(n.Search, " "))
		b.set("VLAN", n.VLANs...)
	}
	for _, r := range n.Routes {
		b.section("Route")
		b.set("Destination", r.To.String())
		b.set("Gateway", r.Via.String())
		b.set("Metric", numberOrEmpty(r.Metric))
	}
	network := b.file(networkdPath(n, "network"), 0o644, "the interface's addresses and routes")
	return append(files, network)
}

// netdev returns the .netdev file of a bond or VLAN, and nil for an interface of the hardware.
func netdev(n *plan.Interface) *ini {
	var b ini
	b.section("NetDev")
	b.set("Name", n.Name)
	switch {
	case n.Bond != nil:
		b.set("Kind", "bond")
		b.section("Bond")
		b.set("Mode", n.Bond.Mode)
		b.set("MIIMonitorSec", strconv.Itoa(n.Bond.MIIMon)+"ms")
		b.set("LACPTransmitRate", n.Bond.LACPRate)
		b.set("TransmitHashPolicy", n.Bond.TransmitHashPolicy)
	case n.VLAN != nil:
		b.set("Kind", "vlan")
		b.section("VLAN")
		b.set("Id", strconv.Itoa(n.VLAN.ID))
	default:
		return nil
	}
	return &b
}

// networkdPath returns the path of a file for networkd or udev. Of all files that match an
// interface, only the first by name counts: kiln's come after 05-kiln-pods.network and before those
// of the system.
func networkdPath(n *plan.Interface, suffix string) string {
	return config.NetworkdPrefix + n.Name + "." + suffix
}
