package config

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"kiln/render/yamlpath"
)

// Limits of interfaces.
const (
	highestVLAN   = 4094 // IEEE 802.1Q keeps 0 and 4095
	slowestMIIMon = 60000
)

// Modes of bonds in which a parameter means something (Linux'
// Documentation/networking/bonding.rst).
var (
	lacpModes    = []string{"802.3ad"}
	hashModes    = []string{"802.3ad", "balance-xor", "balance-tlb"}
	primaryModes = []string{"active-backup", "balance-tlb", "balance-alb"}
)

// nic is one interface of a node.
type nic struct {
	*Interface
	values *InterfaceValues
	at     *yamlpath.Location
	static []netip.Prefix // its addresses without a problem
	bond   string         // the bond whose member it is
}

// reaches says whether a router is in one of the interface's networks, or may be: what DHCP gives
// is not known.
func (n *nic) reaches(a netip.Addr) bool {
	if n.dynamic(a.Is4()) || a.IsLinkLocalUnicast() && a.Is6() {
		return true
	}
	return slices.ContainsFunc(n.static, func(p netip.Prefix) bool { return p.Contains(a) })
}

// dynamic says whether DHCP gives the interface an address of a family.
func (n *nic) dynamic(is4 bool) bool { return is4 && n.DHCP4 || !is4 && n.DHCP6 }

// has says whether the interface has, or gets, an address of a family.
func (n *nic) has(is4 bool) bool {
	return n.dynamic(is4) || slices.ContainsFunc(n.static, func(p netip.Prefix) bool { return p.Addr().Is4() == is4 })
}

// allInterfaces checks the interfaces of all nodes, each node's and against each other. owners maps
// the nodes' addresses, and hardware their MAC addresses, to their indices.
func (v *checker) allInterfaces(owners map[netip.Addr]int, hardware map[string]int) {
	static := map[netip.Addr]int{}
	for i := range v.c.Spec.Nodes {
		n, at := &v.c.Spec.Nodes[i], v.spec.Key("nodes").Index(i)
		if len(n.Interfaces) == 0 {
			continue
		}
		nics := make([]nic, len(n.Interfaces))
		byName := map[string]*nic{}
		for j := range n.Interfaces {
			nics[j] = nic{
				Interface: &n.Interfaces[j],
				values:    &v.values.Nodes[i].Interfaces[j],
				at:        at.Key("interfaces").Index(j),
			}
			v.nicName(nics, j, byName)
			v.nicMAC(i, nics, j, hardware)
			v.nicAddresses(i, &nics[j], owners, static)
		}
		for j := range nics {
			v.bond(&nics[j], byName)
		}
		for j := range nics {
			v.vlan(nics, j, byName)
			v.member(&nics[j])
		}
		v.nicRoutes(nics)
		v.covered(i, nics, at.Key("addresses"))
	}
}

// nicName checks the name of the j-th interface. byName gets it, if it can be referred to.
func (v *checker) nicName(nics []nic, j int, byName map[string]*nic) {
	n := &nics[j]
	at, name := n.at.Key("name"), n.values.Name
	switch {
	case n.Name == "" && n.MAC == "":
		v.report(n.at, "has neither name nor mac; write the interface's name, such as eth0, or its MAC address")
		return
	case n.Name == "" && n.values.MAC == "":
		return // reported with the address
	case n.Name == "":
		at = n.at.Key("mac")
	case !interfaceName.MatchString(n.Name):
		v.report(at, "%s is not an interface's name; write at most 15 letters, digits, '.', '-' or '_', such as eth0", quote(n.Name))
		return
	case n.Name == "lo" || n.Name == "all" || n.Name == "default":
		v.report(at, "%s is the kernel's own; write the name of a network card, bond or VLAN", quote(n.Name))
		return
	}
	if glob := v.c.podInterface(name); glob != "" {
		v.report(at, "%s is the name of an interface of pods (%s), which is kept from the program that configures interfaces; choose another", quote(name), glob)
	}
	if byName[name] != nil {
		first := slices.IndexFunc(nics[:j], func(other nic) bool { return other.values.Name == name })
		v.report(at, "%s is already the name of interfaces[%d]; choose another", quote(name), first)
		return
	}
	byName[name] = n
}

// nicMAC checks by what the j-th interface of the i-th node is found. It may be the node's own mac.
func (v *checker) nicMAC(i int, nics []nic, j int, hardware map[string]int) {
	n := &nics[j]
	at, mac := n.at.Key("mac"), n.values.MAC
	if n.MAC == "" {
		return
	}
	if problem := macProblem(mac); problem != "" {
		v.report(at, "%s %s", quote(n.MAC), problem)
		return
	}
	if n.Bond != nil || n.VLAN != nil {
		v.report(at, "a bond or VLAN is not found by an address, it gets one; remove it")
		return
	}
	switch first, ok := hardware[mac]; {
	case !ok:
		hardware[mac] = i
	case first != i:
		v.taken(quote(n.MAC), first, "name", at)
	case slices.ContainsFunc(nics[:j], func(other nic) bool { return other.values.MAC == mac }):
		v.report(at, "%s is already that of another interface of this node; remove one", quote(n.MAC))
	}
}

// nicAddresses reads and checks an interface's own addresses. static maps those of the nodes before
// it to their indices.
func (v *checker) nicAddresses(i int, n *nic, owners, static map[netip.Addr]int) {
	for k, p := range n.values.Addresses {
		at, text := n.at.Key("addresses").Index(k), n.Addresses[k]
		if !p.IsValid() {
			if a := readAddress(text); a.IsValid() && a.Zone() == "" {
				v.report(at, "%s has no prefix length; write that of its network too, like %s/24", quote(text), a)
			} else {
				v.report(at, "%s is not an address with a prefix length; write it like 10.0.0.11/24", quote(text))
			}
			continue
		}
		a := p.Addr()
		switch problem := addressProblem(a); {
		case problem != "":
			v.report(at, "%s %s", quote(text), problem)
			continue
		case p.Bits() == 0:
			v.report(at, "%s is an address in a network of all addresses; write the prefix length of its network, like %s/24", quote(text), a)
			continue
		case a.Is4() && p.Bits() < 31 && (a == p.Masked().Addr() || a == lastOf(p)):
			v.report(at, "%s is the first or last address of its network, which no machine has; correct the address or the prefix length", quote(text))
			continue
		}
		n.static = append(n.static, p)
		v.outside(a, at)
		first, ok := owners[a]
		if !ok || first == i {
			first, ok = static[a]
		}
		switch {
		case !ok:
			static[a] = i
		case first == i:
			v.report(at, "%s stands here twice; remove one", a)
		default:
			v.taken(a.String(), first, "name", at)
		}
	}
}

// bond checks a bond and marks its members.
func (v *checker) bond(n *nic, byName map[string]*nic) {
	b, at := n.Bond, n.at.Key("bond")
	if b == nil {
		return
	}
	if len(b.Members) == 0 && v.has(at.Key("members")) {
		v.report(at.Key("members"), "is empty; write the names of the interfaces that the bond is made of")
	}
	for k, name := range b.Members {
		here, m := at.Key("members").Index(k), byName[name]
		switch {
		case m == nil:
			v.report(here, "%s is not in interfaces; add it there, with its mac if it has no fixed name", quote(name))
		case m.Bond != nil || m.VLAN != nil:
			v.report(here, "%s is a bond or VLAN itself; name interfaces of the machine's own", quote(name))
		case m.bond == n.values.Name:
			v.report(here, "%s stands here twice; remove one", quote(name))
		case m.bond != "":
			v.report(here, "%s is already a member of %s; remove it from one of the two", quote(name), quote(m.bond))
		default:
			m.bond = n.values.Name
		}
	}
	if b.MIIMon < 1 || b.MIIMon > slowestMIIMon {
		v.report(at.Key("miimon"), "%d is out of range; write 1 to %d milliseconds", b.MIIMon, slowestMIIMon)
	}
	for _, p := range []struct {
		key, value string
		modes      []string
	}{
		{"lacpRate", b.LACPRate, lacpModes},
		{"transmitHashPolicy", b.TransmitHashPolicy, hashModes},
		{"primary", b.Primary, primaryModes},
	} {
		if p.value != "" && !slices.Contains(p.modes, b.Mode) && b.Mode != "" {
			v.report(at.Key(p.key), "has no effect with mode %s; remove it, or choose a mode that has it: %s", quote(b.Mode), strings.Join(p.modes, ", "))
		}
	}
	if b.Primary != "" && !slices.Contains(b.Members, b.Primary) {
		v.report(at.Key("primary"), "%s is not one of the members; write one that is, or add it to them", quote(b.Primary))
	}
}

// vlan checks the j-th interface as a VLAN.
func (v *checker) vlan(nics []nic, j int, byName map[string]*nic) {
	n := &nics[j]
	if n.VLAN == nil {
		return
	}
	at := n.at.Key("vlan")
	if n.Bond != nil {
		v.report(at, "stands beside bond; give the bond an entry of its own, and name it as link")
	}
	if id := n.VLAN.ID; (id < 1 || id > highestVLAN) && v.has(at.Key("id")) {
		v.report(at.Key("id"), "%d is out of range; write 1 to %d", id, highestVLAN)
	}
	link := byName[n.VLAN.Link]
	switch {
	case n.VLAN.Link == "":
		return
	case link == nil:
		v.report(at.Key("link"), "%s is not in interfaces; add it there", quote(n.VLAN.Link))
		return
	case link.VLAN != nil:
		v.report(at.Key("link"), "%s is a VLAN itself; name what it is on", quote(n.VLAN.Link))
		return
	case link.bond != "":
		v.report(at.Key("link"), "%s is a member of %s; put the VLAN on the bond", quote(n.VLAN.Link), quote(link.bond))
		return
	}
	if n.MTU > link.MTU && link.MTU != 0 {
		v.report(n.at.Key("mtu"), "%d is more than what %s carries (%d); lower it, or raise that", n.MTU, quote(n.VLAN.Link), link.MTU)
	}
	if first := slices.IndexFunc(nics[:j], func(other nic) bool { return other.VLAN != nil && *other.VLAN == *n.VLAN }); first >= 0 {
		v.report(at, "%d on %s is already interfaces[%d]; remove one", n.VLAN.ID, quote(n.VLAN.Link), first)
	}
}

// member checks that a bond's member has no settings of its own: they would be the bond's.
func (v *checker) member(n *nic) {
	if n.MTU != 0 && (n.MTU < lowestMTU || n.MTU > highestMTU) {
		v.report(n.at.Key("mtu"), "%d is out of range; write %d to %d, or nothing for the kernel's default", n.MTU, lowestMTU, highestMTU)
	}
	if n.bond == "" {
		return
	}
	for _, own := range []struct {
		key string
		set bool
	}{
		{"addresses", len(n.Addresses) > 0}, {"dhcp4", n.DHCP4}, {"dhcp6", n.DHCP6}, {"gateways", len(n.Gateways) > 0}, {"routes", len(n.Routes) > 0},
		{"nameservers", len(n.Nameservers) > 0}, {"searchDomains", len(n.SearchDomains) > 0}, {"mtu", n.MTU != 0},
	} {
		if own.set {
			v.report(n.at.Key(own.key), "has no effect on a member of a bond; move it to %s", quote(n.bond))
		}
	}
}

// nicRoutes checks routers, routes and DNS servers of a node's interfaces.
func (v *checker) nicRoutes(nics []nic) {
	type target struct {
		to     netip.Prefix
		metric int
	}
	seen := map[target]string{} // where it stands
	route := func(n *nic, to target, at *yamlpath.Location) {
		if first, ok := seen[to]; ok {
			what := "a second route to " + to.to.String()
			if to.to.Bits() == 0 {
				what = "a second default router"
			}
			v.report(at, "is %s (%s is the first); remove one, or give one of them as a route with a metric", what, first)
			return
		}
		path := at.String()
		seen[to] = path[strings.LastIndex(path, "interfaces["):]
	}
	for j := range nics {
		n := &nics[j]
		for k, a := range n.values.Gateways {
			at := n.at.Key("gateways").Index(k)
			if v.router(n, n.Gateways[k], a, at) {
				route(n, target{everything(a.Is4()), 0}, at)
			}
		}
		for k, r := range n.Routes {
			at := n.at.Key("routes").Index(k)
			to, via := n.values.Routes[k].To, n.values.Routes[k].Via
			ok := v.destination(r.To, to, at.Key("to"))
			reached := v.router(n, r.Via, via, at.Key("via"))
			if r.Metric < 0 || r.Metric > math.MaxInt32 {
				v.report(at.Key("metric"), "%d is out of range; write 1 to %d", r.Metric, math.MaxInt32)
			}
			if ok && reached && to.Addr().Is4() != via.Is4() {
				v.report(at.Key("via"), "%s is %s, and %s is %s; write a router of that family", via, family(via.Is4()), to, family(to.Addr().Is4()))
			} else if ok {
				route(n, target{to, r.Metric}, at)
			}
		}
		v.nicDNS(n)
	}
}

// router checks a, the address of a router on an interface, which is written as text. It reports
// whether the address can be used.
func (v *checker) router(n *nic, text string, a netip.Addr, at *yamlpath.Location) bool {
	switch {
	case text == "": // missing, which the decoder says
	case !a.IsValid():
		v.report(at, "%s %s", quote(text), notAddress(text))
	case a.Zone() != "" || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.Is4In6():
		v.report(at, "%s is no router's address; write one like 10.0.0.1", quote(text))
	case ownAddress(n.static, a):
		v.report(at, "%s is this interface's own address; write the router's", a)
	case n.bond == "" && !n.reaches(a):
		v.report(at, "%s is in no network of this interface (%s); correct it or the prefix length", a, networks(n.static))
	default:
		return true
	}
	return false
}

// destination checks p, the network that a route leads to, which is written as text. It reports
// whether the network can be used.
func (v *checker) destination(text string, p netip.Prefix, at *yamlpath.Location) bool {
	switch {
	case text == "": // missing, which the decoder says
		return false
	case !p.IsValid():
		v.report(at, "%s is not a network; write it like 10.1.0.0/16, or 0.0.0.0/0 for all", quote(text))
		return false
	case p.Masked() != p:
		v.report(at, "%s has bits set behind the prefix; write %s", p, p.Masked())
		return false
	}
	for _, own := range []struct {
		list []netip.Prefix
		name string
	}{{v.pods, "podSubnets"}, {v.services, "serviceSubnets"}} {
		for i, s := range own.list {
			if s.IsValid() && s.Contains(p.Addr()) && s.Bits() <= p.Bits() && v.c.Spec.Network.CNI == "routed" {
				v.report(at, "%s lies in network.%s[%d] %s, whose routes are kiln's; remove it", p, own.name, i, s)
				return false
			}
		}
	}
	return true
}

// nicDNS checks an interface's DNS servers and search domains.
func (v *checker) nicDNS(n *nic) {
	seen := map[netip.Addr]int{}
	for k, a := range n.values.Nameservers {
		at, text := n.at.Key("nameservers").Index(k), n.Nameservers[k]
		if !a.IsValid() {
			v.report(at, "%s %s", quote(text), notAddress(text))
			continue
		}
		if problem := addressProblem(a); problem != "" {
			v.report(at, "%s %s", quote(text), problem)
			continue
		}
		if first, ok := seen[a]; ok {
			v.report(at, "%s is already nameservers[%d]; remove one", a, first)
		}
		seen[a] = k
		if n.bond == "" && !n.has(a.Is4()) {
			v.report(at, "%s is %s, and this interface has no address of that family; move it to one that has", a, family(a.Is4()))
		}
	}
	for k, domain := range n.SearchDomains {
		if problem := hostProblem(domain); problem != "" {
			v.report(n.at.Key("searchDomains").Index(k), "%s %s", quote(domain), problem)
		}
	}
	if len(n.SearchDomains) > 0 && n.bond == "" && !n.has(true) && !n.has(false) {
		v.report(n.at.Key("searchDomains"), "has no effect on an interface without addresses; move it to one that has")
	}
}

// covered checks that the i-th machine gets its node's addresses: each one is an interface's own,
// unless DHCP may give it.
func (v *checker) covered(i int, nics []nic, at *yamlpath.Location) {
	if slices.ContainsFunc(nics, func(n nic) bool { return len(n.static) < len(n.Addresses) }) {
		return // one of them is perhaps what could not be read
	}
	for k, a := range v.values.Nodes[i].Addresses {
		if !a.IsValid() || slices.ContainsFunc(nics, func(n nic) bool {
			return n.dynamic(a.Is4()) || ownAddress(n.static, a)
		}) {
			continue
		}
		v.report(at.Index(k), "%s is on none of this node's interfaces; add it to the addresses of one of them, or correct it", a)
	}
}
