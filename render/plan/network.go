package plan

import (
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// Backends of Flannel.
const (
	FlannelVXLAN     = "vxlan"     // inside UDP packets
	FlannelHostGW    = "host-gw"   // as they are
	FlannelWireGuard = "wireguard" // encrypted, inside UDP packets
)

// PodPorts returns the UDP ports on which machines take packets of pods from each other.
func (p *Plan) PodPorts() (ports []int) {
	flannel := &p.Config.Spec.Network.Flannel
	switch {
	case !p.Flannel() || flannel.Backend == FlannelHostGW:
		return nil
	case flannel.Backend == FlannelWireGuard && p.DualStack():
		return []int{flannel.Port, flannel.Port + 1}
	}
	return []int{flannel.Port}
}

// CNIFolder returns the folder of CNI plugins, which is one with cni flannel.
func (p *Plan) CNIFolder() string {
	for i := range p.Machines {
		if m := &p.Machines[i]; m.Joins() {
			return m.Settings.CNIBinDir()
		}
	}
	return target.CNIBinDir
}

// KernelModules returns the kernel modules that the machine needs, then the user's. overlay is for
// the file systems of containers. A machine with pods also needs br_netfilter, so that Services
// reach pods on the same bridge, and nf_conntrack, because kube-proxy sets its limits
// (https://github.com/kubernetes/kops/issues/17915). wireguard encrypts packets of pods.
func (p *Plan) KernelModules(m *Machine) []string {
	modules := []string{"overlay"}
	if m.Joins() {
		modules = []string{"br_netfilter", "nf_conntrack", "overlay"}
		if p.Config.Spec.Network.Flannel.Backend == FlannelWireGuard {
			modules = append(modules, "wireguard")
		}
	}
	return slices.Concat(modules, m.Settings.KernelModules)
}

// NetworkWarnings warns where pods of two machines, or a machine and a mirror, may not meet.
func (p *Plan) NetworkWarnings() config.Problems {
	return append(p.podWarnings(), p.mirrorWarnings()...)
}

func (p *Plan) podWarnings() (out config.Problems) {
	if f := &p.Config.Spec.Network.Flannel; f.Backend != FlannelHostGW && !f.DirectRouting {
		return nil
	}
	joining := 0
	var platforms []string
	for i := range p.Machines {
		m := &p.Machines[i]
		if !m.Joins() {
			continue
		}
		joining++
		if m.Pool { // the document is for several
			joining++
		}
		if r := m.Platform.PodRoutes; r != nil && !slices.Contains(platforms, m.Platform.Name) {
			platforms = append(platforms, m.Platform.Name)
			out = append(out, config.Warning(config.WarnPodRoutes, "%s: pods of two machines "+
				"reach each other only with %s", m.Platform.Name, r.Text))
		}
	}
	if joining < 2 {
		return nil
	}
	return out
}

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
