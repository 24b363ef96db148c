package plan

import (
	"fmt"
	"net/netip"

	"kiln/render/config"
)

// Interface is a network interface of a machine.
type Interface struct {
	Name      string
	MAC       string         // by which it is found, as the kernel writes it; empty where the name is enough
	Addresses []netip.Prefix // its own, each with the length of its network
	DHCP4     bool
	DHCP6     bool
	Routes    []Hop // default routes first
	DNS       []netip.Addr
	Search    []string
	MTU       int          // 0 is the system's default
	Bond      *config.Bond // what it is made of, if it is a bond
	VLAN      *config.VLAN // what it is on, if it is a VLAN
	Master    string       // the bond whose member it is
	Primary   bool         // of that bond
	VLANs     []string     // that are on it
}

// Hop is a route through an interface.
type Hop struct {
	To     netip.Prefix
	Via    netip.Addr
	Metric int // 0 is the system's default
}

// Has says that the interface has addresses of a family, its own or DHCP's.
func (n *Interface) Has(is4 bool) bool {
	if is4 && n.DHCP4 || !is4 && n.DHCP6 {
		return true
	}
	return len(n.Own(is4)) > 0
}

// Own are the interface's own addresses of a family.
func (n *Interface) Own(is4 bool) (out []netip.Prefix) {
	for _, p := range n.Addresses {
		if p.Addr().Is4() == is4 {
			out = append(out, p)
		}
	}
	return out
}

// interfaces are those of a node, in the order of the configuration.
func interfaces(list []config.Interface) ([]Interface, error) {
	out := make([]Interface, len(list))
	byName := map[string]*Interface{}
	for i := range list {
		c := &list[i]
		n := Interface{Name: c.Called(), MAC: config.PlainMAC(c.MAC), DHCP4: c.DHCP4, DHCP6: c.DHCP6, Search: c.SearchDomains, MTU: c.MTU, Bond: c.Bond, VLAN: c.VLAN}
		var err error
		if n.Addresses, err = prefixes(c.Addresses); err != nil {
			return nil, err
		}
		if n.DNS, err = addrs(c.Nameservers); err != nil {
			return nil, err
		}
		gateways, err := addrs(c.Gateways)
		if err != nil {
			return nil, err
		}
		for _, a := range gateways {
			everything := netip.IPv6Unspecified()
			if a.Is4() {
				everything = netip.IPv4Unspecified()
			}
			n.Routes = append(n.Routes, Hop{To: netip.PrefixFrom(everything, 0), Via: a})
		}
		for _, r := range c.Routes {
			to, err := netip.ParsePrefix(r.To)
			if err != nil {
				return nil, err
			}
			via, err := netip.ParseAddr(r.Via)
			if err != nil {
				return nil, err
			}
			n.Routes = append(n.Routes, Hop{to, via, r.Metric})
		}
		out[i] = n
		byName[n.Name] = &out[i]
	}
	for i := range out {
		if b := out[i].Bond; b != nil {
			for _, name := range b.Members {
				if byName[name] == nil {
					return nil, fmt.Errorf("bond %s: no interface %s", out[i].Name, name)
				}
				byName[name].Master, byName[name].Primary = out[i].Name, name == b.Primary
			}
		}
		if v := out[i].VLAN; v != nil {
			if byName[v.Link] == nil {
				return nil, fmt.Errorf("VLAN %s: no interface %s", out[i].Name, v.Link)
			}
			byName[v.Link].VLANs = append(byName[v.Link].VLANs, out[i].Name)
		}
	}
	return out, nil
}

func addrs(texts []string) ([]netip.Addr, error) {
	out := make([]netip.Addr, len(texts))
	for i, t := range texts {
		a, err := netip.ParseAddr(t)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}
