package check

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"kiln/render/plan"
)

// checkNetworks: the machine, the control plane, the kubelet and the pods' network mean the same networks.
func (c *inspection) checkNetworks() {
	p := c.cluster.Plan
	for _, a := range c.machine.Addresses {
		for _, s := range slices.Concat(p.PodSubnets, p.ServiceSubnets) {
			if s.Contains(a) {
				c.fail("address %s lies in %s, a network of pods or Services; move one of them", a, s)
			}
		}
	}
	api, manager := c.component(plan.APIServer), c.component(plan.ControllerManager)
	for _, flag := range []struct {
		of   *program
		name string
		want []netip.Prefix
	}{
		{api, "service-cluster-ip-range", p.ServiceSubnets},
		{manager, "service-cluster-ip-range", p.ServiceSubnets},
		{manager, "cluster-cidr", p.PodSubnets},
	} {
		if want := joinPrefixes(flag.want); flag.of != nil && flag.of.flag(flag.name) != want {
			c.fail("%s: --%s is %q, the cluster's networks are %q; change spec.network and remove the patch", flag.of, flag.name, flag.of.flag(flag.name), want)
		}
	}
	// An address outside of the Services is a resolver of the user's own on each machine.
	for _, text := range c.kubelet.ClusterDNS {
		a, err := netip.ParseAddr(text)
		service := slices.ContainsFunc(p.ServiceSubnets, func(s netip.Prefix) bool { return s.Contains(a) })
		if err != nil || service && len(c.facts.dns) > 0 && !slices.Contains(c.facts.dns, text) {
			c.fail("file %s: clusterDNS: %q is not an address of the Service kube-dns (%s); remove the patch that changes one of them", plan.KubeletConfig, text, strings.Join(c.facts.dns, ", "))
		}
	}
	c.checkPodRanges()
}

// checkPodRanges: with cni routed the pods of the machine get addresses from its own part of the pod subnets.
func (c *inspection) checkPodRanges() {
	f := c.files[plan.CNIConfig]
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
		c.fail("file %s: gives pods addresses from %q, want %q; this is a mistake of kiln's", f.Path, joinPrefixes(got), joinPrefixes(want))
	}
}

// checkNetworks: the cluster's networks do not overlap, and Services lie where the API server looks for them.
func (f *facts) checkNetworks() {
	p := f.cluster.Plan
	for _, pods := range p.PodSubnets {
		for _, services := range p.ServiceSubnets {
			if pods.Overlaps(services) {
				f.fail("pod subnet %s overlaps service subnet %s; move one of them", pods, services)
			}
		}
	}
	for _, text := range f.dns {
		a, err := netip.ParseAddr(text)
		if err != nil || !slices.ContainsFunc(p.ServiceSubnets, func(s netip.Prefix) bool { return s.Contains(a) }) {
			f.fail("Service kube-dns: %q lies in no service subnet (%s); remove the patch that changes it", text, joinPrefixes(p.ServiceSubnets))
		}
	}
	if f.proxy != nil && f.proxy.ClusterCIDR != joinPrefixes(p.PodSubnets) {
		f.fail("ConfigMap kube-proxy: clusterCIDR is %q, the pod subnets are %q; remove the patch that changes it", f.proxy.ClusterCIDR, joinPrefixes(p.PodSubnets))
	}
	f.checkPodRanges()
}

// checkPodRanges: no two machines give their pods the same addresses, and all lie in the pod subnets.
func (f *facts) checkPodRanges() {
	type part struct {
		netip.Prefix
		of string
	}
	var parts []part
	for i := range f.cluster.Plan.Machines {
		for family, cidr := range f.cluster.Plan.Machines[i].PodCIDRs {
			parts = append(parts, part{cidr, f.cluster.Plan.Machines[i].Name})
			if pods := f.cluster.Plan.PodSubnets[family]; !pods.Contains(cidr.Addr()) || cidr.Bits() < pods.Bits() {
				f.fail("node %s: pod CIDR %s is not a part of %s; correct podCIDRs", f.cluster.Plan.Machines[i].Name, cidr, pods)
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.Addr().Compare(b.Addr()) })
	for i := 1; i < len(parts); i++ {
		if a, b := parts[i-1], parts[i]; a.Overlaps(b.Prefix) {
			f.fail("nodes %s and %s: pod CIDRs %s and %s overlap; correct podCIDRs", a.of, b.of, a.Prefix, b.Prefix)
		}
	}
}

func joinPrefixes(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}
