package assembly

import (
	"fmt"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// keyfiles returns the file of an interface for NetworkManager: a connection in its keyfile format
// (nm-settings-keyfile(5)). The mode is 0600, because NetworkManager ignores a file that others may
// read. If Fedora CoreOS finds any keyfile, it takes over no network configuration from the
// initramfs.
func keyfiles(n *plan.Interface) []node.File {
	var b ini
	b.section("connection")
	b.set("id", n.Name)
	kind := "ethernet"
	switch {
	case n.Bond != nil:
		kind = "bond"
	case n.VLAN != nil:
		kind = "vlan"
	}
	b.set("type", kind)
	b.set("interface-name", n.Name)
	if n.Master != "" {
		b.set("master", n.Master)
		b.set("slave-type", "bond")
	}
	b.section("ethernet")
	b.set("mac-address", n.MAC)
	b.set("mtu", numberOrEmpty(n.MTU))
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
	path := config.KeyfilePrefix + n.Name + ".nmconnection"
	return []node.File{b.file(path, 0o600, "the interface, for NetworkManager")}
}

// keyfileAddresses adds the addresses, routes and name servers of one family.
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
		case r.To.Bits() == 0 && r.Metric == 0 && len(own) > 0:
			// A connection may have a gateway only if it has addresses of its own.
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
	if dns := ofFamily(n.DNS, is4); len(dns) > 0 {
		b.set("dns", strings.Join(dns, ";")+";")
	}
	if len(n.Search) > 0 {
		b.set("dns-search", strings.Join(n.Search, ";")+";")
	}
}
