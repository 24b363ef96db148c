package plan

import (
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/config"
)

// Interface is a network interface of a machine.
type Interface struct {
	Name      string
	MAC       string         // by which it is found, as the kernel writes it; empty if by its name
	Addresses []netip.Prefix // its own, each with the length of its network
	DHCP4     bool
	DHCP6     bool
	Routes    []Hop // default routes first
	DNS       []netip.Addr
	Search    []string
	MTU       int          // 0 is the system's default
	Bond      *config.Bond // nil if it is no bond
	VLAN      *config.VLAN // nil if it is no VLAN
	Master    string       // the bond whose member it is
	Primary   bool         // it is the primary member of that bond
	VLANs     []string     // the VLANs that are on it
}

// Hop is a route through an interface.
type Hop struct {
	To     netip.Prefix
	Via    netip.Addr
	Metric int // 0 is the system's default
}

// Has reports whether the interface has addresses of a family, its own or from DHCP.
func (n *Interface) Has(is4 bool) bool {
	if is4 && n.DHCP4 || !is4 && n.DHCP6 {
		return true
	}
	return len(n.Own(is4)) > 0
}

// Own returns the interface's own addresses of a family.
func (n *Interface) Own(is4 bool) (out []netip.Prefix) {
	for _, p := range n.Addresses {
		if p.Addr().Is4() == is4 {
			out = append(out, p)
		}
	}
	return out
}

// interfaces returns the interfaces of a node, in the order of the configuration.
func interfaces(list []config.Interface, values []config.InterfaceValues) []Interface {
	out := make([]Interface, len(list))
	byName := map[string]*Interface{}
	for i := range list {
		c, v := &list[i], &values[i]
		out[i] = Interface{
			Name: v.Name, MAC: v.MAC, MTU: c.MTU, Bond: c.Bond, VLAN: c.VLAN,
			Addresses: slices.Clone(v.Addresses), DHCP4: c.DHCP4, DHCP6: c.DHCP6,
			DNS: slices.Clone(v.Nameservers), Search: c.SearchDomains,
		}
		for _, a := range v.Gateways {
			everything := netip.IPv6Unspecified()
			if a.Is4() {
				everything = netip.IPv4Unspecified()
			}
			out[i].Routes = append(out[i].Routes, Hop{To: netip.PrefixFrom(everything, 0), Via: a})
		}
		for j, r := range v.Routes {
			out[i].Routes = append(out[i].Routes, Hop{r.To, r.Via, c.Routes[j].Metric})
		}
		byName[v.Name] = &out[i]
	}
	// Parse has found every member and link among the interfaces.
	for i := range out {
		if b := out[i].Bond; b != nil {
			for _, name := range b.Members {
				byName[name].Master, byName[name].Primary = out[i].Name, name == b.Primary
			}
		}
		if v := out[i].VLAN; v != nil {
			byName[v.Link].VLANs = append(byName[v.Link].VLANs, out[i].Name)
		}
	}
	return out
}
