package config

import (
	"net/netip"
	"path"
	"regexp"
	"slices"

	"kiln.dev/kiln/render/text/yamltext"
)

// interfaces checks the interfaces of each node, and those of all nodes against each other. owners
// maps the addresses of nodes to their indices, and hardware their MAC addresses.
func (v *checker) interfaces(owners map[netip.Addr]int, hardware map[string]int) {
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
		for j := range nics {
			v.nicDNS(&nics[j])
		}
		v.nodeAddresses(i, nics, at.Key("addresses"))
	}
}

// nicName checks the name of the j-th interface, and enters it in byName if others can refer to it.
func (v *checker) nicName(nics []nic, j int, byName map[string]*nic) {
	n := &nics[j]
	at, name := n.at.Key("name"), n.values.Name
	switch {
	case n.Name == "" && n.MAC == "":
		v.report(n.at, "has neither name nor mac; write the interface's name, such as eth0, "+
			"or its MAC address")
		return
	case n.Name == "" && n.values.MAC == "":
		return // nicMAC reports the address
	case n.Name == "":
		at = n.at.Key("mac")
	case !interfaceName.MatchString(n.Name):
		v.report(at, "%s is not an interface's name; write at most 15 letters, digits, '.', "+
			"'-' or '_', such as eth0", quote(n.Name))
		return
	case n.Name == "lo" || n.Name == "all" || n.Name == "default":
		v.report(at, "%s is the kernel's own; write the name of a network card, bond or VLAN",
			quote(n.Name))
		return
	}
	if glob := v.c.podInterface(name); glob != "" {
		v.report(at, "%s is the name of an interface of pods (%s), "+
			"which the program that configures interfaces leaves alone; choose another",
			quote(name), glob)
	}
	if byName[name] != nil {
		first := slices.IndexFunc(nics[:j],
			func(other nic) bool { return other.values.Name == name })
		v.report(at, "%s is already the name of interfaces[%d]; choose another", quote(name), first)
		return
	}
	byName[name] = n
}

// nicMAC checks the MAC address of the j-th interface of the i-th node. The node may have it too.
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
		v.report(at, "a bond or VLAN is not found by a MAC address, it gets one; remove it")
		return
	}
	switch first, ok := hardware[mac]; {
	case !ok:
		hardware[mac] = i
	case first != i:
		v.reportTaken(quote(n.MAC), first, "name", at)
	case slices.ContainsFunc(nics[:j], func(other nic) bool { return other.values.MAC == mac }):
		v.report(at, "%s is already that of another interface of this node; remove one",
			quote(n.MAC))
	}
}

// nicAddresses checks the addresses of an interface of the i-th node. owners maps the addresses of
// nodes to their indices, and static those of the interfaces before.
func (v *checker) nicAddresses(i int, n *nic, owners, static map[netip.Addr]int) {
	for k, p := range n.values.Addresses {
		at, text := n.at.Key("addresses").Index(k), n.Addresses[k]
		if !p.IsValid() {
			if a := readAddress(text); a.IsValid() && a.Zone() == "" {
				v.report(at, "%s has no prefix length; write that of its network too, like %s/24",
					quote(text), a)
			} else {
				v.report(at, "%s is not an address with a prefix length; "+
					"write it like 10.0.0.11/24", quote(text))
			}
			continue
		}
		a := p.Addr()
		switch problem := addressProblem(a); {
		case problem != "":
			v.report(at, "%s %s", quote(text), problem)
			continue
		case p.Bits() == 0:
			v.report(at, "%s is an address in a network of all addresses; "+
				"write the prefix length of its network, like %s/24", quote(text), a)
			continue
		case isEdge(p, a):
			v.report(at, "%s is the first or last address of its network, which no machine has; "+
				"correct the address or the prefix length", quote(text))
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
			v.report(at, "%s is listed twice; remove one", a)
		default:
			v.reportTaken(a.String(), first, "name", at)
		}
	}
}

// nodeAddresses checks that the interfaces have the addresses of the i-th node: each is an address
// of an interface, unless DHCP may give it.
func (v *checker) nodeAddresses(i int, nics []nic, at *yamltext.Location) {
	if slices.ContainsFunc(nics, func(n nic) bool { return len(n.static) < len(n.Addresses) }) {
		return // the address may be the one that could not be read
	}
	for k, a := range v.values.Nodes[i].Addresses {
		has := func(n nic) bool { return n.dynamic(a.Is4()) || ownAddress(n.static, a) }
		if a.IsValid() && !slices.ContainsFunc(nics, has) {
			v.report(at.Index(k), "%s is on none of this node's interfaces; "+
				"add it to the addresses of one of them, or correct it", a)
		}
	}
}

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

func (n *nic) dynamic(is4 bool) bool { return is4 && n.DHCP4 || !is4 && n.DHCP6 }

func (n *nic) has(is4 bool) bool {
	if n.dynamic(is4) {
		return true
	}
	return slices.ContainsFunc(n.static, func(p netip.Prefix) bool { return p.Addr().Is4() == is4 })
}

// podInterfaces lists the interfaces of pods on a machine, as globs, by network.cni; with none,
// those that the usual CNIs make (Calico's documentation, "Configure NetworkManager"; for Canal and
// Flannel rancher/rke2#786).
var podInterfaces = map[string][]string{
	"flannel": {"cni0", "flannel*", "veth*"},
	"none": {
		"cali*", "cilium*", "cni*", "flannel*", "lxc*", "tunl*", "veth*", "vxlan*.calico",
		"wg-v6.cali", "wireguard.cali",
	},
}

// PodInterfaces returns the names of pods' interfaces on the machines, as globs.
func (c *Cluster) PodInterfaces() []string { return podInterfaces[c.Spec.Network.CNI] }

func (c *Cluster) podInterface(name string) (glob string) {
	for _, glob := range c.PodInterfaces() {
		if ok, _ := path.Match(glob, name); ok {
			return glob
		}
	}
	return ""
}

// interfaceName matches names of network interfaces. The kernel takes at most 15 characters.
var interfaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,14}$`)
