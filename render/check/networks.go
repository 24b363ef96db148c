package check

import (
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkNetworks checks that the machine's addresses, the control plane's flags and the kubelet's
// DNS agree with the networks of the plan.
func (c *inspection) checkNetworks() {
	p := c.cluster.Plan
	for _, a := range c.machine.Addresses {
		for _, s := range slices.Concat(p.PodSubnets, p.ServiceSubnets) {
			if s.Contains(a) {
				c.fail("address %s lies in %s, a network of pods or Services; move one of them",
					a, s)
			}
		}
	}
	api, manager := c.component(target.APIServer), c.component(target.ControllerManager)
	for _, flag := range []struct {
		program *machine.Program
		name    string
		want    []netip.Prefix
	}{
		{api, "service-cluster-ip-range", p.ServiceSubnets},
		{manager, "service-cluster-ip-range", p.ServiceSubnets},
		{manager, "cluster-cidr", p.PodSubnets},
	} {
		got, want := flag.program.Flag(flag.name), joinPrefixes(flag.want)
		if flag.program != nil && got != want {
			c.fail("%s: --%s is %q, the cluster's networks are %q; "+
				"change spec.network and remove the patch", flag.program, flag.name, got, want)
		}
	}
	// An address outside of the service subnets is allowed: a DNS cache of the user's on each
	// machine.
	dns := c.facts.dns
	for _, server := range c.kubelet.ClusterDNS {
		a, err := netip.ParseAddr(server)
		isService := containsAddress(p.ServiceSubnets, a)
		if err != nil || isService && len(dns) > 0 && !slices.Contains(dns, server) {
			c.fail("file %s: clusterDNS: nothing answers at %q; write the address of the Service "+
				"kube-dns (%s), or one outside of network.serviceSubnets",
				plan.KubeletConfig, server, strings.Join(dns, ", "))
		}
	}
}

// checkNetworks checks that the cluster's networks do not overlap, and that kube-dns and kube-proxy
// use those of the plan.
func (f *facts) checkNetworks() {
	p := f.cluster.Plan
	for _, pods := range p.PodSubnets {
		for _, services := range p.ServiceSubnets {
			if pods.Overlaps(services) {
				f.fail("pod subnet %s overlaps service subnet %s; move one of them", pods, services)
			}
		}
	}
	for _, address := range f.dns {
		a, err := netip.ParseAddr(address)
		if err != nil || !containsAddress(p.ServiceSubnets, a) {
			f.fail("Service kube-dns: %q lies in no service subnet (%s); "+
				"remove the patch that changes it", address, joinPrefixes(p.ServiceSubnets))
		}
	}
	if want := joinPrefixes(p.PodSubnets); f.proxy != nil && f.proxy.ClusterCIDR != want {
		f.fail("ConfigMap kube-proxy: clusterCIDR is %q, the pod subnets are %q; "+
			"remove the patch that changes it", f.proxy.ClusterCIDR, want)
	}
}

func containsAddress(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

func joinPrefixes(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}
