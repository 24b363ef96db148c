package interfaces

import (
	"strconv"
	"strings"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// networkdPath is where a file of networkd's, or udev's, lies. The first file in the order of names that matches an interface is the only
// one: these come after 05-kiln-pods.network, and before what systems bring.
func networkdPath(n *plan.Interface, suffix string) string {
	return config.NetworkdPrefix + n.Name + "." + suffix
}

// networkdFiles tells systemd-networkd of an interface: what it is, if it is made of others (systemd.netdev(5)), and what it has
// (systemd.network(5)). Its user, who is not root, reads the files.
func networkdFiles(n *plan.Interface) (files []node.File) {
	if b := netdev(n); b != nil {
		files = append(files, b.file(networkdPath(n, "netdev"), 0o644, "the interface is made of others"))
	}
	var b ini
	b.section("Match")
	b.set("Name", n.Name)
	b.section("Link")
	b.set("MTUBytes", digits(n.MTU))
	b.section("Network")
	if n.Master != "" {
		b.set("Bond", n.Master)
		if n.Primary {
			b.set("PrimarySlave", "true")
		}
	} else {
		b.set("DHCP", map[[2]bool]string{{true, true}: "yes", {true, false}: "ipv4", {false, true}: "ipv6", {}: "no"}[[2]bool{n.DHCP4, n.DHCP6}])
		b.set("IPv6AcceptRA", map[bool]string{true: "yes", false: "no"}[n.DHCP6])
		b.set("Address", texts(n.Addresses)...)
		b.set("DNS", texts(n.DNS)...)
		b.set("Domains", strings.Join(n.Search, " "))
		b.set("VLAN", n.VLANs...)
	}
	for _, r := range n.Routes {
		b.section("Route")
		b.set("Destination", r.To.String())
		b.set("Gateway", r.Via.String())
		b.set("Metric", digits(r.Metric))
	}
	return append(files, b.file(networkdPath(n, "network"), 0o644, "the interface's addresses and routes"))
}

// netdev describes a bond or VLAN; nil if the interface is the machine's own.
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
