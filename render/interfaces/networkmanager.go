package interfaces

import (
	"fmt"
	"strconv"
	"strings"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// keyfiles tells NetworkManager of an interface, by a connection in its own format (nm-settings-keyfile(5)). It ignores a file that
// others may read. On Fedora CoreOS the presence of one also means that nothing is taken over from the initramfs.
func keyfiles(n *plan.Interface) []node.File {
	var b ini
	b.section("connection")
	b.set("id", n.Name)
	b.set("type", map[[2]bool]string{{}: "ethernet", {true, false}: "bond", {false, true}: "vlan"}[[2]bool{n.Bond != nil, n.VLAN != nil}])
	b.set("interface-name", n.Name)
	if n.Master != "" {
		b.set("master", n.Master)
		b.set("slave-type", "bond")
	}
	b.section("ethernet")
	b.set("mac-address", n.MAC)
	b.set("mtu", digits(n.MTU))
	if n.Bond != nil {
		b.section("bond")
		b.set("mode", n.Bond.Mode)
		b.set("miimon", strconv.Itoa(n.Bond.MIIMon))
		b.set("lacp_rate", n.Bond.LACPRate)
		b.set("xmit_hash_policy", n.Bond.TransmitHashPolicy)
		b.set("primary", n.Bond.Primary)
	}
	if n.VLAN != nil {
		b.section("vlan")
		b.set("id", strconv.Itoa(n.VLAN.ID))
		b.set("parent", n.VLAN.Link)
	}
	if n.Master == "" {
		keyfileAddresses(&b, n, true)
		keyfileAddresses(&b, n, false)
	}
	return []node.File{b.file(config.KeyfilePrefix+n.Name+".nmconnection", 0o600, "the interface, for NetworkManager")}
}

// keyfileAddresses writes what an interface has of one family.
func keyfileAddresses(b *ini, n *plan.Interface, is4 bool) {
	section, none, dynamic := "ipv6", "link-local", n.DHCP6
	if is4 {
		section, none, dynamic = "ipv4", "disabled", n.DHCP4
	}
	own := n.Own(is4)
	b.section(section)
	switch {
	case dynamic:
		b.set("method", "auto")
	case len(own) > 0:
		b.set("method", "manual")
	default:
		b.set("method", none)
		return
	}
	for i, p := range own {
		b.set(fmt.Sprintf("address%d", i+1), p.String())
	}
	routes := 0
	for _, r := range n.Routes {
		switch {
		case r.To.Addr().Is4() != is4:
		case r.To.Bits() == 0 && r.Metric == 0 && len(own) > 0: // without addresses of its own a connection has no gateway
			b.set("gateway", r.Via.String())
		default:
			routes++
			parts := []string{r.To.String(), r.Via.String()}
			if r.Metric != 0 {
				parts = append(parts, strconv.Itoa(r.Metric))
			}
			b.set(fmt.Sprintf("route%d", routes), strings.Join(parts, ","))
		}
	}
	if dns := only(n.DNS, is4); len(dns) > 0 {
		b.set("dns", strings.Join(dns, ";")+";")
	}
	if len(n.Search) > 0 {
		b.set("dns-search", strings.Join(n.Search, ";")+";")
	}
}
