package config

import (
	"net/netip"
	"slices"
)

// Limits of the parts of a pod subnet.
const (
	maxNodeMaskDiff = 16 // kube-controller-manager's limit between the subnet and a part, in bits
	minNodeBits     = 4  // the bits of an address within a part: gateway, network and a few pods
)

// podCIDRs returns the parts of the pod subnets that follow from a machine's addresses, in the
// order of the subnets. It returns nil if a subnet, a mask or an address is missing or wrong;
// validate reports that.
func podCIDRs(subnets []netip.Prefix, masks []int, addresses []netip.Addr) []netip.Prefix {
	if len(masks) != len(subnets) {
		return nil
	}
	out := make([]netip.Prefix, len(subnets))
	for i, subnet := range subnets {
		own := slices.IndexFunc(addresses, func(a netip.Addr) bool {
			return a.IsValid() && a.Is4() == subnet.Addr().Is4()
		})
		if own < 0 || !subnet.IsValid() || !maskFits(subnet, masks[i]) {
			return nil
		}
		out[i] = podCIDR(subnet, masks[i], addresses[own])
	}
	return out
}

// maskFits reports whether the parts of a pod subnet may have this prefix length.
func maskFits(subnet netip.Prefix, mask int) bool {
	smallest := subnet.Addr().BitLen() - minNodeBits
	return mask >= subnet.Bits() && mask <= smallest && mask-subnet.Bits() <= maxNodeMaskDiff
}

// podCIDR returns one machine's part of a pod subnet: the part whose number is the low bits of the
// machine's address, as many as there are bits between the subnet's prefix length and the part's.
// 10.0.0.21 gets part 21 of 10.244.0.0/16, which is 10.244.21.0/24. There are 0 to 16 such bits,
// the controller-manager's limit.
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

// upperHalves returns the upper half of each pod subnet, or the whole subnet if it is one part. It
// returns nil if a subnet or a mask is missing or wrong; validate reports that.
func upperHalves(subnets []netip.Prefix, masks []int) []netip.Prefix {
	if len(masks) != len(subnets) {
		return nil
	}
	out := make([]netip.Prefix, len(subnets))
	for i, subnet := range subnets {
		switch {
		case !subnet.IsValid() || !maskFits(subnet, masks[i]):
			return nil
		case masks[i] == subnet.Bits():
			out[i] = subnet.Masked()
		default:
			base := subnet.Masked().Addr().AsSlice()
			base[subnet.Bits()/8] |= 0x80 >> (subnet.Bits() % 8)
			start, _ := netip.AddrFromSlice(base)
			out[i] = netip.PrefixFrom(start, subnet.Bits()+1)
		}
	}
	return out
}
