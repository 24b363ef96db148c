package config

import (
	"fmt"
	"net/netip"
)

// PodCIDRs returns the i-th node's parts of the pod subnets, in the order of podSubnets: those that it sets itself, or
// those that follow from its addresses. An etcd machine has none. It fails, in a Cluster that Parse did not make, if the node lacks an address of a
// subnet's family, or if an address, a subnet or a mask is wrong.
func (c *Cluster) PodCIDRs(i int) ([]netip.Prefix, error) {
	n := &c.Spec.Nodes[i]
	if n.Role == roleEtcd {
		return nil, nil
	}
	if len(n.PodCIDRs) > 0 {
		own := make([]netip.Prefix, len(n.PodCIDRs))
		for j, text := range n.PodCIDRs {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, fmt.Errorf("node %s: pod CIDR: %w", n.Name, err)
			}
			own[j] = p
		}
		return own, nil
	}
	net := &c.Spec.Network
	cidrs := make([]netip.Prefix, len(net.PodSubnets))
	for j, text := range net.PodSubnets {
		subnet, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("pod subnet: %w", err)
		}
		if j >= len(net.NodeMaskSizes) {
			return nil, fmt.Errorf("pod subnet %s has no node mask size", text)
		}
		if m := net.NodeMaskSizes[j]; m < subnet.Bits() || m > subnet.Addr().BitLen() || m-subnet.Bits() > maxNodeMaskDiff {
			return nil, fmt.Errorf("node mask size %d does not fit pod subnet %s", m, text)
		}
		a, err := addressOf(n, subnet.Addr().Is4())
		if err != nil {
			return nil, err
		}
		cidrs[j] = podCIDR(subnet, net.NodeMaskSizes[j], a)
	}
	return cidrs, nil
}

// addressOf returns a node's first address of a family.
func addressOf(n *Node, is4 bool) (netip.Addr, error) {
	for _, text := range n.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("node %s: address: %w", n.Name, err)
		}
		if a.Is4() == is4 {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("node %s has no address of the family of a pod subnet", n.Name)
}

// podCIDR returns one machine's part of a pod subnet: the part whose number is the low bits of the machine's address,
// as many as there are bits between the subnet's prefix and the part's. 10.0.0.21 gets part 21 of 10.244.0.0/16, which
// is 10.244.21.0/24. Between /mask and the subnet's own prefix lie 0 to 16 bits, the controller-manager's limit.
func podCIDR(subnet netip.Prefix, mask int, a netip.Addr) netip.Prefix {
	bits := mask - subnet.Bits()
	low := a.AsSlice()
	index := (int(low[len(low)-2])<<8 | int(low[len(low)-1])) & (1<<bits - 1)
	base := subnet.Masked().Addr().AsSlice()
	for k := range bits {
		if index>>k&1 == 1 {
			position := mask - 1 - k // counted from the most significant bit
			base[position/8] |= 0x80 >> (position % 8)
		}
	}
	start, _ := netip.AddrFromSlice(base)
	return netip.PrefixFrom(start, mask)
}
