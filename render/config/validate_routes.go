package config

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

type destination struct {
	network netip.Prefix
	metric  int
}

func (v *checker) nicRoutes(nics []nic) {
	seen := map[destination]string{} // the path of the route
	for j := range nics {
		n := &nics[j]
		for k, a := range n.values.Gateways {
			at := n.at.Key("gateways").Index(k)
			if v.router(n, n.Gateways[k], a, at) {
				v.route(destination{allAddresses(a.Is4()), 0}, seen, at)
			}
		}
		for k, r := range n.Routes {
			at := n.at.Key("routes").Index(k)
			to, via := n.values.Routes[k].To, n.values.Routes[k].Via
			ok := v.routeTo(r.To, to, at.Key("to"))
			reached := v.router(n, r.Via, via, at.Key("via"))
			if r.Metric < 0 || r.Metric > math.MaxInt32 {
				v.report(at.Key("metric"), "%d is out of range; write 1 to %d",
					r.Metric, math.MaxInt32)
			}
			if ok && reached && to.Addr().Is4() != via.Is4() {
				v.report(at.Key("via"), "%s is %s, and %s is %s; write a router of that family",
					via, family(via.Is4()), to, family(to.Addr().Is4()))
			} else if ok {
				v.route(destination{to, r.Metric}, seen, at)
			}
		}
	}
}

// route reports a route to a destination that has one, and enters the others in seen.
func (v *checker) route(to destination, seen map[destination]string, at *yamltext.Location) {
	first, ok := seen[to]
	if !ok {
		path := at.String()
		seen[to] = path[strings.LastIndex(path, "interfaces["):]
		return
	}
	what := "a second route to " + to.network.String()
	if to.network.Bits() == 0 {
		what = "a second default router"
	}
	v.report(at, "is %s (%s is the first); "+
		"remove one, or give one of them as a route with a metric", what, first)
}

// router checks the address of a router on an interface, text in the file.
func (v *checker) router(n *nic, text string, a netip.Addr, at *yamltext.Location) (ok bool) {
	switch {
	case text == "": // the decoder reports that it is missing
	case !a.IsValid():
		v.report(at, "%s %s", quote(text), notAddress(text))
	case a.Zone() != "" || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.Is4In6():
		v.report(at, "%s is not the address of a router; write one like 10.0.0.1", quote(text))
	case ownAddress(n.static, a):
		v.report(at, "%s is this interface's own address; write the router's", a)
	case slices.ContainsFunc(n.static, func(p netip.Prefix) bool { return isEdge(p, a) }):
		v.report(at, "%s is the first or last address of its network, which no router has; "+
			"correct it or the prefix length", a)
	case n.bond == "" && !n.reaches(a):
		v.report(at, "%s is in no network of this interface (%s); correct it or the prefix length",
			a, networks(n.static))
	default:
		return true
	}
	return false
}

// routeTo checks the network to which a route leads, text in the file.
func (v *checker) routeTo(text string, p netip.Prefix, at *yamltext.Location) (ok bool) {
	switch {
	case text == "": // the decoder reports that it is missing
		return false
	case !p.IsValid():
		v.report(at, "%s is not a network; write it like 10.1.0.0/16, or 0.0.0.0/0 for all",
			quote(text))
		return false
	case p.Masked() != p:
		v.report(at, "%s has bits set behind the prefix; write %s", p, p.Masked())
		return false
	}
	if v.c.Spec.Network.CNI == "none" {
		return true
	}
	for _, own := range []struct {
		subnets []netip.Prefix
		key     string
	}{{v.pods, "podSubnets"}, {v.services, "serviceSubnets"}} {
		for i, s := range own.subnets {
			if s.IsValid() && s.Contains(p.Addr()) && s.Bits() <= p.Bits() {
				v.report(at, "%s lies in network.%s[%d] %s, whose routes kiln makes; remove it",
					p, own.key, i, s)
				return false
			}
		}
	}
	return true
}

// nicDNS checks the DNS servers and search domains of an interface.
func (v *checker) nicDNS(n *nic) {
	seen := map[netip.Addr]int{}
	for k, a := range n.values.Nameservers {
		at := n.at.Key("nameservers").Index(k)
		if !v.machineAddress(n.Nameservers[k], a, at) {
			continue
		}
		if first, ok := seen[a]; ok {
			v.report(at, "%s is already nameservers[%d]; remove one", a, first)
		}
		seen[a] = k
		v.outside(a, at) // the machine needs names before the cluster is there
		if n.bond == "" && !n.has(a.Is4()) {
			v.report(at, "%s is %s, and this interface has no address of that family; "+
				"move it to one that has", a, family(a.Is4()))
		}
	}
	for k, domain := range n.SearchDomains {
		if problem := hostProblem(domain); problem != "" {
			v.report(n.at.Key("searchDomains").Index(k), "%s %s", quote(domain), problem)
		}
	}
	if len(n.SearchDomains) > 0 && n.bond == "" && !n.has(true) && !n.has(false) {
		v.report(n.at.Key("searchDomains"), "has no effect on an interface without addresses; "+
			"move it to one that has")
	}
}
