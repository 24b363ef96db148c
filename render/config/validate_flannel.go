package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// wireGuard is a value of network.encryption, and Flannel's backend for it.
const wireGuard = "wireguard"

func (v *checker) flannel() {
	net, at := &v.c.Spec.Network, v.spec.Key("network").Key("flannel")
	f := &net.Flannel
	if net.CNI != "flannel" { // any other word is reported, and may become flannel
		if net.CNI == "none" && v.has(at) {
			v.report(at, "has no effect with cni none; remove it, or write cni: flannel")
		}
		if net.CNI == "none" && net.Encryption == wireGuard {
			v.report(v.spec.Key("network").Key("encryption"), "wireguard is for cni flannel, and "+
				"cni none is another network; remove it, and let that encrypt")
		}
		return
	}
	if net.Encryption == wireGuard && f.Backend != wireGuard {
		v.report(at.Key("backend"), "%s sends packets in clear, and network.encryption is "+
			"wireguard; remove one of them", f.Backend)
	}
	v.flannelPort(at.Key("port"))
	v.flannelMTU(at.Key("mtu"))
	switch {
	case f.Backend == "host-gw":
		joining := v.unrouted(at.Key("backend"), "host-gw", "Write vxlan")
		v.segment(joining, true)
		v.segment(joining, false)
	case f.DirectRouting && f.Backend != "vxlan":
		v.report(at.Key("directRouting"), "has no effect with backend %s; remove it", f.Backend)
	case f.DirectRouting:
		v.unrouted(at.Key("directRouting"), "directRouting", "Remove it")
	}
}

func (v *checker) flannelPort(at *yamltext.Location) {
	const highest = 65535
	f := &v.c.Spec.Network.Flannel
	last := f.Port // the second of two ports follows the first
	if f.Backend == wireGuard && len(v.c.Spec.Network.PodSubnets) > 1 {
		last++
	}
	switch {
	case f.Backend == "host-gw" && v.has(at):
		v.report(at, "has no effect with backend host-gw, which needs no port; remove it")
	case f.Port <= target.LastNodePort && last >= target.FirstNodePort:
		v.report(at, "%d is one of the ports of Services (%d-%d); write another", f.Port,
			target.FirstNodePort, target.LastNodePort)
	case f.Port < 0 || last > highest:
		v.report(at, "%d is out of range; write a UDP port from 1 to %d", f.Port,
			highest-(last-f.Port))
	}
}

// flannelMTU checks the MTU between the machines. Interfaces of pods have one that is less by what
// Flannel subtracts, and IPv6 needs at least 1280 bytes there, too.
func (v *checker) flannelMTU(at *yamltext.Location) {
	f := &v.c.Spec.Network.Flannel
	lowest := lowestMTU
	if strings.Contains(families(v.pods), family(false)) {
		lowest += map[string]int{"vxlan": 70, wireGuard: 80}[f.Backend]
	}
	switch {
	case f.MTU == 0:
	case f.Backend == "host-gw":
		v.report(at, "has no effect with backend host-gw, where packets are as large as the "+
			"interfaces of the machines allow; remove it")
	case f.MTU < lowest || f.MTU > highestMTU:
		v.report(at, "%d is out of range; write %d to %d, or 0 for the MTU of each machine's "+
			"interface", f.MTU, lowest, highestMTU)
	}
}

// flannelFolders checks that the nodes and pools have one folder of CNI plugins, since one
// DaemonSet puts Flannel's plugin there on all of them.
func (v *checker) flannelFolders(m settings) {
	if v.c.Spec.Network.CNI != "flannel" {
		return
	}
	if v.cniFolder.name == "" {
		v.cniFolder = namedFolder{m.name, m.CNIBinDir()}
	}
	system, _ := target.SystemNamed(m.OS)
	if folder := m.CNIBinDir(); !system.CanWrite(folder + "/flannel") {
		v.reportLayer(m, narrower(m, "profile", "os"), "%s has its CNI plugins in %s, which "+
			"its system cannot write, and Flannel puts its own there; write /opt/cni/bin, and "+
			"have all plugins there", m.name, folder)
	}
	if first := v.cniFolder; m.CNIBinDir() != first.folder {
		v.reportLayer(m, narrower(m, "profile", "os"), "%s has its CNI plugins in %s, and %s has "+
			"them in %s: Flannel puts its plugin into one folder on all machines; use images with "+
			"the same one, or write network.cni: none and bring a network with addons",
			m.name, m.CNIBinDir(), first.name, first.folder)
	}
}

// namedFolder is a folder, and the first machine that has it.
type namedFolder struct{ name, folder string }

// unrouted reports each platform that routes between machines itself, where packets of pods cannot
// travel as they are. It returns the indices of the nodes with pods, none if there is no other
// machine to send packets to.
func (v *checker) unrouted(at *yamltext.Location, value, remedy string) (joining []int) {
	var reported []string // platforms
	platform := func(settings *Effective, name string) {
		p, _ := target.PlatformNamed(settings.Platform)
		if p.PodRoutes == nil || !p.PodRoutes.Never || slices.Contains(reported, p.Name) {
			return
		}
		reported = append(reported, p.Name)
		v.report(at, "%s cannot work on %s, which %s has: %s. %s", value, p.Name, name,
			p.PodRoutes.Text, remedy)
	}
	for i := range v.c.Spec.Nodes {
		if v.c.Spec.Nodes[i].Role != roleEtcd {
			joining = append(joining, i)
		}
	}
	if len(joining) < 2 && len(v.c.Spec.Pools) == 0 {
		return nil
	}
	for _, i := range joining {
		platform(v.c.EffectiveNode(i), v.c.Spec.Nodes[i].Name)
	}
	for i := range v.c.Spec.Pools {
		platform(v.c.EffectivePool(i), v.c.Spec.Pools[i].Name)
	}
	return joining
}

// widestSegment returns the prefix length of the largest network segment of a family: 10.0.0.0/8 is
// the largest private network, and a site has a /48 (RFC 6177).
func widestSegment(is4 bool) int {
	if is4 {
		return 8
	}
	return 48
}

// segment reports the first node whose address of a family is not on the network segment of
// another. The interfaces of a node give the length of its network. Where they do not, only
// addresses are reported that no segment has together.
func (v *checker) segment(nodes []int, is4 bool) {
	widest := widestSegment(is4)
	owners := map[netip.Prefix]int{} // the first node of each network
	var networks []netip.Prefix
	add := func(i int, network netip.Prefix) {
		if _, ok := owners[network]; !ok {
			owners[network] = i
			networks = append(networks, network)
		}
	}
	for _, i := range nodes {
		a, _ := v.addressOf(i, is4)
		if !a.IsValid() {
			continue
		}
		if len(networks) == 0 {
			add(i, netip.PrefixFrom(a, widest).Masked())
		}
		for _, nic := range v.values.Nodes[i].Interfaces {
			for _, p := range nic.Addresses {
				if p.Addr() == a {
					add(i, p.Masked())
				}
			}
		}
	}
	for _, network := range networks {
		for _, j := range nodes {
			a, index := v.addressOf(j, is4)
			if !a.IsValid() || network.Contains(a) {
				continue
			}
			first := owners[network]
			other := v.c.Spec.Nodes[first].Name
			where := fmt.Sprintf("is not in %s, the network of %s", network, other)
			if b, _ := v.addressOf(first, is4); network.Bits() == widest {
				where = fmt.Sprintf("and %s of %s are on no segment together", b, other)
			}
			at := v.spec.Key("nodes").Index(j).Key("addresses").Index(index)
			v.report(at, "%s %s, and network.flannel.backend host-gw needs all "+
				"machines on one network segment; move one of them, or write "+
				"network.flannel.backend: vxlan", a, where)
			return
		}
	}
}

// addressOf returns the node's address of a family, and its index. It returns the zero address if
// the node has none, or if another check reports it.
func (v *checker) addressOf(i int, is4 bool) (a netip.Addr, index int) {
	for j, a := range v.values.Nodes[i].Addresses {
		if a.IsValid() && a.Is4() == is4 && !a.Is4In6() && a.Zone() == "" && v.fits(is4) &&
			specialUse(netip.PrefixFrom(a, a.BitLen())) == "" {
			return a, j
		}
	}
	return netip.Addr{}, 0
}
