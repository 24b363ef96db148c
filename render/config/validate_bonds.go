package config

import (
	"slices"
	"strings"
)

// Limits of bonds and VLANs.
const (
	highestVLAN   = 4094  // IEEE 802.1Q reserves 0 and 4095
	slowestMIIMon = 60000 // milliseconds
)

// The modes of bonds in which a parameter has an effect (Linux,
// Documentation/networking/bonding.rst).
var (
	lacpModes    = []string{"802.3ad"}
	hashModes    = []string{"802.3ad", "balance-xor", "balance-tlb"}
	primaryModes = []string{"active-backup", "balance-tlb", "balance-alb"}
)

// bond checks a bond and enters its name in its members.
func (v *checker) bond(n *nic, byName map[string]*nic) {
	b, at := n.Bond, n.at.Key("bond")
	if b == nil {
		return
	}
	if len(b.Members) == 0 && v.has(at.Key("members")) {
		v.report(at.Key("members"),
			"is empty; write the names of the interfaces that the bond is made of")
	}
	for k, name := range b.Members {
		here, m := at.Key("members").Index(k), byName[name]
		switch {
		case m == nil:
			v.report(here,
				"%s is not in interfaces; add it there, with its mac if it has no fixed name",
				quote(name))
		case m.Bond != nil || m.VLAN != nil:
			v.report(here, "%s is a bond or VLAN itself; name interfaces of the machine's own",
				quote(name))
		case m.bond == n.values.Name:
			v.report(here, "%s is listed twice; remove one", quote(name))
		case m.bond != "":
			v.report(here, "%s is already a member of %s; remove it from one of the two",
				quote(name), quote(m.bond))
		default:
			m.bond = n.values.Name
		}
	}
	if b.MIIMon < 1 || b.MIIMon > slowestMIIMon {
		v.report(at.Key("miimon"), "%d is out of range; write 1 to %d milliseconds",
			b.MIIMon, slowestMIIMon)
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
			v.report(at.Key(p.key), "has no effect with mode %s; "+
				"remove it, or choose a mode that has it: %s",
				quote(b.Mode), strings.Join(p.modes, ", "))
		}
	}
	if b.Primary != "" && !slices.Contains(b.Members, b.Primary) {
		v.report(at.Key("primary"), "%s is not one of the members; "+
			"write one that is, or add it to them", quote(b.Primary))
	}
}

// vlan checks the VLAN of the j-th interface, if it is one.
func (v *checker) vlan(nics []nic, j int, byName map[string]*nic) {
	n := &nics[j]
	if n.VLAN == nil {
		return
	}
	at := n.at.Key("vlan")
	if n.Bond != nil {
		v.report(at, "is set together with bond; "+
			"give the bond an entry of its own, and name it as link")
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
		v.report(at.Key("link"), "%s is a VLAN itself; name the interface that carries it",
			quote(n.VLAN.Link))
		return
	case link.bond != "":
		v.report(at.Key("link"), "%s is a member of %s; put the VLAN on the bond",
			quote(n.VLAN.Link), quote(link.bond))
		return
	}
	if n.MTU > link.MTU && link.MTU != 0 {
		v.report(n.at.Key("mtu"), "%d is more than what %s carries (%d); lower it, or raise that",
			n.MTU, quote(n.VLAN.Link), link.MTU)
	}
	same := func(other nic) bool { return other.VLAN != nil && *other.VLAN == *n.VLAN }
	if first := slices.IndexFunc(nics[:j], same); first >= 0 {
		v.report(at, "%d on %s is already interfaces[%d]; remove one",
			n.VLAN.ID, quote(n.VLAN.Link), first)
	}
}

// member checks the MTU of an interface and, if it is a member of a bond, that it has no settings
// that belong to the bond.
func (v *checker) member(n *nic) {
	if n.MTU != 0 && (n.MTU < lowestMTU || n.MTU > highestMTU) {
		v.report(n.at.Key("mtu"), "%d is out of range; "+
			"write %d to %d, or nothing for the kernel's default", n.MTU, lowestMTU, highestMTU)
	}
	if n.bond == "" {
		return
	}
	for _, own := range []struct {
		key string
		set bool
	}{
		{"addresses", len(n.Addresses) > 0},
		{"dhcp4", n.DHCP4},
		{"dhcp6", n.DHCP6},
		{"gateways", len(n.Gateways) > 0},
		{"routes", len(n.Routes) > 0},
		{"nameservers", len(n.Nameservers) > 0},
		{"searchDomains", len(n.SearchDomains) > 0},
		{"mtu", n.MTU != 0},
	} {
		if own.set {
			v.report(n.at.Key(own.key), "has no effect on a member of a bond; move it to %s",
				quote(n.bond))
		}
	}
}
