package config

import (
	"fmt"
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

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
