package plan

import (
	"net/netip"
	"slices"
)

// Route is a run of consecutive machines: the i-th has its pods in Pods+i and answers at Via+i. One
// run stands for many machines, so that a document does not grow with a cluster whose machines have
// consecutive addresses.
type Route struct {
	Pods  netip.Prefix
	Via   netip.Addr
	Count uint32
}

// Routes returns the runs over all named machines, in the order of their pod CIDRs, family by
// family. A run of IPv6 holds one machine: the shell on the machine counts in IPv4 only.
func (p *Plan) Routes() []Route {
	var all []Route
	for family := range p.PodSubnets {
		var hops []Route
		for i := range p.Machines {
			if m := &p.Machines[i]; family < len(m.PodCIDRs) {
				hops = append(hops, Route{m.PodCIDRs[family], m.Addresses[family], 1})
			}
		}
		slices.SortFunc(hops, func(a, b Route) int { return a.Pods.Addr().Compare(b.Pods.Addr()) })
		for _, h := range hops {
			if last := len(all) - 1; last >= 0 && follows(all[last], h) {
				all[last].Count++
			} else {
				all = append(all, h)
			}
		}
	}
	return all
}

// follows reports whether h is the machine after the last one of run.
func follows(run, h Route) bool {
	if !h.Via.Is4() || run.Pods.Bits() != h.Pods.Bits() || !run.Via.Is4() {
		return false
	}
	step := uint32(1) << (32 - run.Pods.Bits())
	n := run.Count
	return number(h.Via) == number(run.Via)+n &&
		number(h.Pods.Addr()) == number(run.Pods.Addr())+n*step
}

// number returns an IPv4 address as a number.
func number(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// Others returns routes without m itself: a run that holds m is divided into two.
func Others(routes []Route, m *Machine) []Route {
	out := make([]Route, 0, len(routes)+1)
	for _, r := range routes {
		at, ok := r.index(m)
		if !ok {
			out = append(out, r)
			continue
		}
		if at > 0 {
			out = append(out, Route{r.Pods, r.Via, at})
		}
		if rest := r.Count - at - 1; rest > 0 {
			out = append(out, Route{r.at(at + 1), addr(number(r.Via) + at + 1), rest})
		}
	}
	return out
}

// index returns m's place in the run, and whether m is in it.
func (r Route) index(m *Machine) (uint32, bool) {
	for _, a := range m.Addresses {
		if !r.Via.Is4() {
			if a == r.Via {
				return 0, true
			}
			continue
		}
		if a.Is4() && number(a) >= number(r.Via) && number(a)-number(r.Via) < r.Count {
			return number(a) - number(r.Via), true
		}
	}
	return 0, false
}

// at returns the pod CIDR of the i-th machine of an IPv4 run.
func (r Route) at(i uint32) netip.Prefix {
	step := uint32(1) << (32 - r.Pods.Bits())
	return netip.PrefixFrom(addr(number(r.Pods.Addr())+i*step), r.Pods.Bits())
}

// addr returns the IPv4 address that a number stands for.
func addr(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
