package config

import (
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/text/yamltext"
)

// nic is one interface of a node while it is checked.
type nic struct {
	*Interface
	values *InterfaceValues
	at     *yamltext.Location
	static []netip.Prefix // the addresses without a problem
	bond   string         // the name of the bond whose member it is, "" if it is none
}

// reaches reports whether a router is in one of the interface's networks, or may be in one. The
// networks that DHCP gives are not known.
func (n *nic) reaches(a netip.Addr) bool {
	if n.dynamic(a.Is4()) || a.IsLinkLocalUnicast() && a.Is6() {
		return true
	}
	return slices.ContainsFunc(n.static, func(p netip.Prefix) bool { return p.Contains(a) })
}

// dynamic reports whether DHCP gives the interface an address of a family.
func (n *nic) dynamic(is4 bool) bool { return is4 && n.DHCP4 || !is4 && n.DHCP6 }

// has reports whether the interface has, or gets, an address of a family.
func (n *nic) has(is4 bool) bool {
	if n.dynamic(is4) {
		return true
	}
	return slices.ContainsFunc(n.static, func(p netip.Prefix) bool { return p.Addr().Is4() == is4 })
}
