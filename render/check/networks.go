package check

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"kiln/render/check/machine"
	"kiln/render/plan"
	"kiln/render/target"
)

// checkNetworks checks that the machine's addresses, the control plane's flags, the kubelet's DNS
// and the CNI configuration agree with the networks of the plan.
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
			c.fail("file %s: clusterDNS: %q is not an address of the Service kube-dns (%s); "+
				"remove the patch that changes one of them",
				plan.KubeletConfig, server, strings.Join(dns, ", "))
		}
	}
	c.checkPodRanges()
}

// checkPodRanges checks that the CNI configuration, which a cluster with cni routed has, takes the
// addresses of pods from the machine's own part of the pod subnets, and that of a pool from the
// ranges of its machines' parts.
func (c *inspection) checkPodRanges() {
	path := plan.CNIConfig
	if c.machine.Pool {
		path = plan.PoolCNIConfig
	}
	f := c.tree.Exact(path)
	if f == nil {
		return
	}
	var conf struct {
		Plugins []struct {
			IPAM struct {
				Ranges [][]struct {
					Subnet netip.Prefix `json:"subnet"`
				} `json:"ranges"`
			} `json:"ipam"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(f.Content, &conf); err != nil {
		c.fail("file %s: %w", f.Path, err)
		return
	}
	var got []netip.Prefix
	for _, plugin := range conf.Plugins {
		for _, set := range plugin.IPAM.Ranges {
			for _, r := range set {
				got = append(got, r.Subnet)
			}
		}
	}
	if want := c.machine.PodCIDRs; !slices.Equal(got, want) {
		c.fail("file %s: gives pods addresses from %q, want %q; this is a mistake of kiln's",
			f.Path, joinPrefixes(got), joinPrefixes(want))
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
	f.checkPodRanges()
}

// checkPodRanges checks that the pod CIDRs of all machines lie in the pod subnets and do not
// overlap. Pools may share theirs.
func (f *facts) checkPodRanges() {
	type podCIDR struct {
		netip.Prefix
		machine string
	}
	var all, pools []podCIDR
	for i := range f.cluster.Plan.Machines {
		m := &f.cluster.Plan.Machines[i]
		for family, cidr := range m.PodCIDRs {
			if m.Pool {
				pools = append(pools, podCIDR{cidr, m.Name})
			} else {
				all = append(all, podCIDR{cidr, m.Name})
			}
			pods := f.cluster.Plan.PodSubnets[family]
			if !pods.Contains(cidr.Addr()) || cidr.Bits() < pods.Bits() {
				f.fail("node %s: pod CIDR %s is not a part of %s; correct podCIDRs",
					m.Name, cidr, pods)
			}
		}
	}
	slices.SortFunc(all, func(a, b podCIDR) int { return a.Addr().Compare(b.Addr()) })
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.Overlaps(b.Prefix) {
			f.fail("nodes %s and %s: pod CIDRs %s and %s overlap; correct podCIDRs",
				a.machine, b.machine, a.Prefix, b.Prefix)
		}
	}
	for _, a := range pools {
		for _, b := range all {
			if a.Overlaps(b.Prefix) {
				f.fail("pool %s and node %s: pod CIDRs %s and %s overlap; correct podCIDRs",
					a.machine, b.machine, a.Prefix, b.Prefix)
			}
		}
	}
}

// containsAddress reports whether an address lies in one of the networks.
func containsAddress(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// joinPrefixes returns networks as flags write them, separated by commas.
func joinPrefixes(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}
