package config

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"

	"kiln.dev/kiln/render/text/yamltext"
)

// Limits of service subnets, in bits of an address.
const (
	maxServiceBits = 20 // kube-apiserver refuses larger ones
	minServiceBits = 4  // kubeadm wants at least ten addresses
)

// Limits of the parts of a pod subnet.
const (
	maxNodeMaskDiff = 16 // kube-controller-manager's limit between the subnet and a part, in bits
	minNodeBits     = 4  // the bits of an address within a part: gateway, network and a few pods
)

// Limits of an MTU. IPv6 needs 1280 bytes (RFC 8200, section 5).
const lowestMTU, highestMTU = 1280, 65535

// network checks the subnets, each by itself and against each other, and the DNS domain.
func (v *checker) network() {
	net, at := &v.c.Spec.Network, v.spec.Key("network")
	v.pods = v.subnets(net.PodSubnets, v.values.PodSubnets, at.Key("podSubnets"))
	v.services = v.subnets(net.ServiceSubnets, v.values.ServiceSubnets, at.Key("serviceSubnets"))
	v.serviceSubnets(at.Key("serviceSubnets"))
	v.nodeMasks(at.Key("nodeMaskSizes"))
	v.aroundNodes(v.pods, at.Key("podSubnets"))
	v.aroundNodes(v.services, at.Key("serviceSubnets"))

	if domain := net.DNSDomain; domain == "localhost" || allDigits.MatchString(domain) {
		v.report(at.Key("dnsDomain"), "%s is not a cluster domain; write one like cluster.local",
			quote(domain))
	} else if problem := hostProblem(domain); problem != "" {
		v.report(at.Key("dnsDomain"), "%s %s", quote(domain), problem)
	}
}

// serviceSubnets checks their families and sizes, and that they do not overlap the pod subnets.
func (v *checker) serviceSubnets(at *yamltext.Location) {
	pods, services := families(v.pods), families(v.services)
	if pods != "" && services != "" && pods != services {
		v.report(at, "%s, but podSubnets are %s; "+
			"both lists need the same families in the same order", services, pods)
	}
	for i, s := range v.services {
		if !s.IsValid() {
			continue
		}
		here, bits := at.Index(i), s.Addr().BitLen()
		switch host := bits - s.Bits(); {
		case host > maxServiceBits:
			v.report(here, "%s is too large; the API server takes at most /%d",
				s, bits-maxServiceBits)
		case host < minServiceBits:
			v.report(here, "%s is too small; "+
				"a cluster needs at least ten services, write /%d or larger",
				s, bits-minServiceBits)
		}
		for j, p := range v.pods {
			if p.IsValid() && p.Overlaps(s) {
				v.report(here, "%s overlaps podSubnets[%d] %s; move one of them", s, j, p)
			}
		}
	}
}

// subnets checks a list of one or two networks. It returns those without a problem; in the place of
// the others are zero values. The file has the networks as texts.
func (v *checker) subnets(
	texts []string, networks []netip.Prefix, at *yamltext.Location,
) []netip.Prefix {
	if len(texts) > 2 {
		v.report(at, "has %d networks; write one, or one of each family (IPv4 and IPv6)",
			len(texts))
		v.hide(at.String())
		return nil
	}
	good := make([]netip.Prefix, len(texts))
	for i, p := range networks {
		if v.subnet(texts[i], p, at.Index(i)) {
			good[i] = p
		}
	}
	both := len(good) == 2 && good[0].IsValid() && good[1].IsValid()
	if both && good[0].Addr().Is4() == good[1].Addr().Is4() {
		v.report(at.Index(1), "is a second %s network; "+
			"two networks are for dual stack, one IPv4 and one IPv6", family(good[0].Addr().Is4()))
		good[1] = netip.Prefix{}
	}
	return good
}

// subnet checks one network. The file has it as text. ok reports whether it can be used.
func (v *checker) subnet(text string, p netip.Prefix, at *yamltext.Location) (ok bool) {
	const example = "10.244.0.0/16 or fd00:10::/56"
	if !p.IsValid() {
		if a := readAddress(text); a.IsValid() && a.Zone() == "" {
			v.report(at, "%s has no prefix length; write it like %s", quote(text), example)
		} else {
			v.report(at, "%s is not a network; write it like %s", quote(text), example)
		}
		return false
	}
	if p.Masked() != p {
		v.report(at, "%s has bits set behind the prefix; write %s", p, p.Masked())
		return false
	}
	if what := specialUse(p); what != "" {
		v.report(at, "%s overlaps %s; use a private network such as %s", p, what, example)
		return false
	}
	return true
}

// aroundNodes reports each subnet that has the addresses of several machines in it. The subnet is
// wrong then, and not each machine. It becomes zero.
func (v *checker) aroundNodes(subnets []netip.Prefix, at *yamltext.Location) {
	for i, p := range subnets {
		first, count := "", 0
		for j := range v.values.Nodes {
			inside := func(a netip.Addr) bool { return p.Contains(a) }
			if !p.IsValid() || !slices.ContainsFunc(v.values.Nodes[j].Addresses, inside) {
				continue
			}
			if count++; count == 1 {
				first = v.c.Spec.Nodes[j].Name
			}
		}
		if count > 1 {
			v.report(at.Index(i), "%s has the addresses of %d machines in it, %s and others; "+
				"write a network that nothing else uses", p, count, first)
			subnets[i] = netip.Prefix{}
		}
	}
}

// nodeMasks checks the sizes of the parts of the pod subnets. A subnet with a problem becomes zero.
func (v *checker) nodeMasks(at *yamltext.Location) {
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
		if p.IsValid() && !v.nodeMask(masks[i], i, at.Index(i)) {
			v.pods[i] = netip.Prefix{}
		}
	}
}

func maskFits(subnet netip.Prefix, mask int) bool {
	smallest := subnet.Addr().BitLen() - minNodeBits
	return mask >= subnet.Bits() && mask <= smallest && mask-subnet.Bits() <= maxNodeMaskDiff
}

// nodeMask checks the size of the parts of the i-th pod subnet.
func (v *checker) nodeMask(mask, i int, at *yamltext.Location) (ok bool) {
	p, subnet := v.pods[i], v.spec.Key("network").Key("podSubnets").Index(i)
	machines := len(v.c.Spec.Pools) // at least one machine each
	for i := range v.c.Spec.Nodes {
		if v.c.Spec.Nodes[i].Role != roleEtcd {
			machines++
		}
	}
	machines = max(1, machines)
	bits := bits.Len(uint(machines - 1)) // so many bits number the machines
	low, high := p.Bits(), min(p.Addr().BitLen()-minNodeBits, p.Bits()+maxNodeMaskDiff)
	fits := maskFits(p, mask)
	switch {
	case fits && mask-p.Bits() >= bits:
		return true
	case !fits && v.has(at) && low <= high:
		sizes := fmt.Sprintf("%d to %d", low, high)
		if low == high {
			sizes = strconv.Itoa(low)
		}
		v.report(at, "/%d does not fit podSubnets[%d] %s; write %s", mask, i, p, sizes)
		return false
	}
	remedy := "enlarge it"
	if want := mask - bits; want > 0 && want < p.Bits() {
		remedy = fmt.Sprintf("write %s or a larger one",
			netip.PrefixFrom(p.Addr(), want).Masked())
	}
	switch part := p.Bits() + bits; {
	case part > high:
	case v.c.Spec.Network.CNI != "none" && !holdsPods(p.Addr().BitLen()-part, defaultMaxPods):
	case len(v.pods) == 1:
		remedy += fmt.Sprintf(", or nodeMaskSizes: [%d] for smaller parts", part)
	default:
		remedy += ", or smaller parts with nodeMaskSizes"
	}
	noun := "machines"
	if machines == 1 {
		noun = "machine"
	}
	v.report(subnet, "%s is too small for %d %s with a /%d each; %s",
		p, machines, noun, mask, remedy)
	return false
}
