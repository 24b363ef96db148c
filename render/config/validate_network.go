package config

import (
	"net/netip"

	"kiln/render/yamlpath"
)

// Limits of the network fields.
const (
	maxServiceBits = 20 // kube-apiserver refuses larger service networks
	minServiceBits = 4  // kubeadm wants at least ten addresses

	lowestMTU, highestMTU = 1280, 65535 // IPv6 needs 1280: RFC 8200, section 5
)

// network checks the cluster's networks against each other.
func (v *checker) network() {
	net, at := &v.c.Spec.Network, v.spec.Key("network")
	podsAt, servicesAt := at.Key("podSubnets"), at.Key("serviceSubnets")
	v.pods = v.subnets(net.PodSubnets, v.values.PodSubnets, podsAt)
	v.services = v.subnets(net.ServiceSubnets, v.values.ServiceSubnets, servicesAt)

	if pods, services := families(v.pods), families(v.services); pods != "" && services != "" && pods != services {
		v.report(servicesAt,
			"%s, but podSubnets are %s; both lists need the same families in the same order",
			services, pods)
	}
	for i, s := range v.services {
		if !s.IsValid() {
			continue
		}
		switch host := s.Addr().BitLen() - s.Bits(); {
		case host > maxServiceBits:
			v.report(servicesAt.Index(i), "%s is too large; the API server takes at most /%d", s,
				s.Addr().BitLen()-maxServiceBits)
		case host < minServiceBits:
			v.report(servicesAt.Index(i),
				"%s is too small; a cluster needs at least ten services, write /%d or larger", s,
				s.Addr().BitLen()-minServiceBits)
		}
		for j, p := range v.pods {
			if p.IsValid() && p.Overlaps(s) {
				v.report(servicesAt.Index(i), "%s overlaps podSubnets[%d] %s; move one of them", s,
					j, p)
			}
		}
	}
	v.nodeMasks(at.Key("nodeMaskSizes"))

	if domain := net.DNSDomain; domain == "localhost" || allDigits.MatchString(domain) {
		v.report(at.Key("dnsDomain"), "%s is not a cluster domain; write one like cluster.local",
			quote(domain))
	} else if problem := hostProblem(domain); problem != "" {
		v.report(at.Key("dnsDomain"), "%s %s", quote(domain), problem)
	}

	const lowest, highest = lowestMTU, highestMTU
	switch {
	case net.MTU == 0:
	case net.MTU < lowest || net.MTU > highest:
		v.report(at.Key("mtu"), "%d is out of range; write %d to %d, or 0 for the kernel's default",
			net.MTU, lowest, highest)
	case net.CNI == "none":
		v.report(at.Key("mtu"), "has no effect with cni none; "+
			"remove it and set the MTU in your CNI")
	}
}

// subnets checks a list of one or two networks, and returns those without a problem; in the place
// of the others are zero values.
func (v *checker) subnets(list []string, values []netip.Prefix, at *yamlpath.Location) []netip.Prefix {
	if len(list) > 2 {
		v.report(at, "has %d networks; write one, or one of each family (IPv4 and IPv6)", len(list))
		v.hide(at.String())
		return nil
	}
	good := make([]netip.Prefix, len(list))
	for i, p := range values {
		here := at.Index(i)
		switch {
		case !p.IsValid():
			if a := readAddress(list[i]); a.IsValid() && a.Zone() == "" {
				v.report(here, "%s has no prefix length; write it like 10.244.0.0/16 or fd00:10::/56",
					quote(list[i]))
			} else {
				v.report(here, "%s is not a network; write it like 10.244.0.0/16 or fd00:10::/56",
					quote(list[i]))
			}
			continue
		case p.Masked() != p:
			v.report(here, "%s has bits set behind the prefix; write %s", p, p.Masked())
			continue
		}
		if what := specialUse(p); what != "" {
			v.report(here, "%s overlaps %s; use a private network such as 10.244.0.0/16 or fd00:10::/56",
				p, what)
			continue
		}
		good[i] = p
	}
	both := len(good) == 2 && good[0].IsValid() && good[1].IsValid()
	if both && good[0].Addr().Is4() == good[1].Addr().Is4() {
		v.report(at.Index(1), "is a second %s network; two networks are for dual stack, one IPv4 and one IPv6",
			family(good[0].Addr().Is4()))
		good[1] = netip.Prefix{}
	}
	return good
}

// nodeMasks checks the sizes of the machines' parts of the pod subnets.
func (v *checker) nodeMasks(at *yamlpath.Location) {
	masks := v.c.Spec.Network.NodeMaskSizes
	if v.pods == nil {
		return
	}
	if len(masks) != len(v.pods) {
		v.report(at, "has %d sizes for %d podSubnets; write one for each", len(masks), len(v.pods))
		v.pods = nil
		return
	}
	for i, p := range v.pods {
		if !p.IsValid() {
			continue
		}
		if m := masks[i]; !maskFits(p, m) {
			smallest := p.Addr().BitLen() - minNodeBits
			low, high := p.Bits(), min(smallest, p.Bits()+maxNodeMaskDiff)
			if low > high {
				v.report(v.spec.Key("network").Key("podSubnets").Index(i),
					"%s is too small; one machine needs a /%d", p, smallest)
			} else {
				v.report(at.Index(i), "/%d does not fit podSubnets[%d] %s; write %d to %d", m, i, p,
					low, high)
			}
			v.pods[i] = netip.Prefix{}
			continue
		}
		if most := 1 << (masks[i] - p.Bits()); len(v.c.Spec.Nodes) > most {
			v.report(v.spec.Key("network").Key("podSubnets").Index(i), "%s in parts of /%d is "+
				"enough for %d machines, and there are %d; enlarge it or change nodeMaskSizes", p,
				masks[i], most, len(v.c.Spec.Nodes))
			v.pods[i] = netip.Prefix{}
		}
	}
}
