package config

import (
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) vip() {
	vip, at := v.c.Spec.ControlPlane.VIP, v.spec.Key("controlPlane").Key("vip")
	if vip == nil {
		return
	}
	v.vipAddress(vip, at.Key("address"))
	if vip.Interface != "" && !interfaceName.MatchString(vip.Interface) {
		v.report(at.Key("interface"), "%s is not a network interface; write its name, such as eth0",
			quote(vip.Interface))
	}
	if v.c.podInterface(vip.Interface) != "" || vip.Interface == "kube-ipvs0" {
		v.report(at.Key("interface"), "%s is an interface of pods or Services, which no router "+
			"sees; write a network card, such as eth0", quote(vip.Interface))
	}
	switch {
	case vip.Mode == "arp" && vip.Interface == "lo":
		v.report(at.Key("interface"), "\"lo\" answers no ARP; write the interface of the network")
	case vip.Mode == "bgp" && vip.BGP == nil:
		v.report(at.Key("bgp"), "missing; mode bgp needs the routers, such as {localAS: 65000, "+
			"peers: [{address: 10.0.0.1, as: 65001}]}")
	case vip.BGP != nil && vip.Mode == "arp":
		v.report(at.Key("bgp"), "has no effect with mode arp; remove it, or set mode: bgp")
	case vip.BGP != nil:
		v.bgp(vip.BGP, at.Key("bgp"))
	}
}

// vipAddress checks that kube-vip carries the endpoint's address, which is no machine's own.
func (v *checker) vipAddress(vip *VIP, at *yamltext.Location) {
	endpoint := v.spec.Key("endpoint")
	host, port := v.values.EndpointHost, v.values.EndpointPort
	if vip.Address == "" {
		switch {
		case v.c.Spec.Endpoint == "":
			v.report(at, "missing; write the address that kube-vip carries, here or as endpoint")
		case host != "":
			v.report(at, "missing; endpoint is the name %s, so write the address to which it "+
				"resolves", quote(host))
		}
		return
	}
	a := v.values.VIP
	if !a.IsValid() {
		v.report(at, "%s %s", quote(vip.Address), notAddress(vip.Address))
		return
	}
	if v.has(at) { // endpoint checks an address that comes from there
		if problem := addressProblem(a); problem != "" {
			v.report(at, "%s %s", quote(vip.Address), problem)
			return
		}
		v.outside(a, at)
	} else {
		at = endpoint
	}
	if v.has(endpoint) && host != "" {
		if e := v.values.EndpointAddress; e.IsValid() && e != a {
			v.report(at, "%s is not the endpoint's address %s; "+
				"kube-vip carries the endpoint: write one of the two", a, e)
		}
		if port != target.APIServerPort {
			v.report(endpoint, "has the port %d; kube-vip carries an address, "+
				"behind which the API servers listen on %d: write that port or none",
				port, target.APIServerPort)
		}
	}
	for i := range v.c.Spec.Nodes {
		if v.hasAddress(i, a) {
			v.report(at, "%s is the address of %s; "+
				"kube-vip needs one that no machine has of its own", a, v.c.Spec.Nodes[i].Name)
		}
	}
	if vip.Mode == "arp" {
		v.vipSegment(a, at)
	}
	if !v.fits(a.Is4()) {
		v.report(at, "%s is %s, and the cluster is %s; write an address of that family",
			a, family(a.Is4()), families(v.pods))
	}
}

func (v *checker) vipPlatform(m settings) {
	vip := v.c.Spec.ControlPlane.VIP
	if vip == nil || vip.Mode != "arp" {
		return
	}
	for i := range target.Platforms {
		if p := &target.Platforms[i]; p.Name == m.Platform && p.NoARP {
			v.reportOnce(v.spec.Key("controlPlane").Key("vip"), "%s drops ARP for addresses that "+
				"it did not assign, so that nothing would reach this one; write the address or "+
				"name of a load balancer as endpoint, or mode: bgp with routers that take "+
				"it", p.Name)
		}
	}
}

// vipSegment checks that an address that kube-vip announces by ARP or neighbour advertisements is
// on the network segment of the control planes: in a network of their interfaces or, where DHCP
// gives their addresses, near enough to these.
func (v *checker) vipSegment(a netip.Addr, at *yamltext.Location) {
	for _, i := range v.controlPlanes {
		own, _ := v.addressOf(i, a.Is4())
		if !own.IsValid() {
			continue
		}
		var list []netip.Prefix
		for _, nic := range v.values.Nodes[i].Interfaces {
			for _, p := range nic.Addresses {
				if p.IsValid() && p.Addr().Is4() == a.Is4() {
					list = append(list, p)
				}
			}
		}
		name, where := v.c.Spec.Nodes[i].Name, networks(list)
		if !ownAddress(list, own) { // DHCP gives the address, and maybe others
			widest := netip.PrefixFrom(own, widestSegment(a.Is4()))
			list, where = []netip.Prefix{widest}, own.String()
		}
		if !slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) }) {
			v.report(at, "%s is not on the network segment of %s (%s), where mode arp announces "+
				"it; write an address of that segment, or use mode bgp", a, name, where)
			return
		}
	}
}

func (v *checker) bgp(b *BGP, at *yamltext.Location) {
	v.system(b.LocalAS, at.Key("localAS"))
	if len(b.Peers) == 0 {
		v.report(at.Key("peers"), "is empty; write the routers that need a route to the address")
	}
	v.routerIDs()
	seen := map[netip.Addr]int{}
	for i, p := range b.Peers {
		here := at.Key("peers").Index(i)
		v.system(p.AS, here.Key("as"))
		a := v.values.Routers[i]
		if !v.machineAddress(p.Address, a, here.Key("address")) {
			continue
		}
		v.outside(a, here.Key("address"))
		if first, ok := seen[a]; ok {
			v.report(here.Key("address"), "%s is already peers[%d]; remove one", a, first)
		}
		seen[a] = i
		for j := range v.c.Spec.Nodes {
			if v.hasAddress(j, a) {
				v.report(here.Key("address"),
					"%s is the address of %s; kube-vip accepts no connections: write the routers",
					a, v.c.Spec.Nodes[j].Name)
			}
		}
	}
	if vip := v.values.VIP; vip.IsValid() {
		if i, ok := seen[vip]; ok {
			v.report(at.Key("peers").Index(i).Key("address"),
				"%s is the address that kube-vip carries; write that of a router", vip)
		}
	}
}

// system checks the number of an autonomous system (RFC 6793; RFC 7607 reserves 0).
func (v *checker) system(number uint32, at *yamltext.Location) {
	if number == 0 && v.has(at) {
		v.report(at, "0 is not the number of an autonomous system; write one such as 65000")
	}
}

// routerIDs checks that the router IDs differ, and that none is zero, which RFC 6286 forbids.
func (v *checker) routerIDs() {
	seen := map[netip.Addr]int{}
	for _, i := range v.controlPlanes {
		addresses, at := v.values.Nodes[i].Addresses, v.spec.Key("nodes").Index(i).Key("addresses")
		if len(addresses) == 0 || slices.ContainsFunc(addresses, invalid) {
			continue
		}
		id := RouterID(addresses)
		first, ok := seen[id]
		switch {
		case id.IsUnspecified():
			v.report(at, "the last four bytes of %s are the machine's router ID for BGP, and may "+
				"not all be zero; give it another address, or an IPv4 address as well",
				addresses[0])
		case ok:
			v.report(at, "the last four bytes of %s are the machine's router ID for BGP, and "+
				"those of %s are the same; give one of them another address, or IPv4 addresses "+
				"as well", addresses[0], v.c.Spec.Nodes[first].Name)
		default:
			seen[id] = i
		}
	}
}

func invalid(a netip.Addr) bool { return !a.IsValid() }

// RouterID returns the number of four bytes by which other routers know a machine with these
// addresses, written like an address (RFC 6286): its first IPv4 address, or the end of its first
// IPv6 address.
func RouterID(addresses []netip.Addr) netip.Addr {
	for _, a := range addresses {
		if a.Is4() {
			return a
		}
	}
	b := addresses[0].As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}
