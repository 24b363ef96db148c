package config

// Network describes the cluster's networks.
type Network struct {
	// PodSubnets are the pods' networks, one, or one of each family in dual stack. The first one's
	// family is the cluster's main family.
	PodSubnets []string `json:"podSubnets,omitempty" default:"10.244.0.0/16"`
	// ServiceSubnets are the services' networks, one, or one of each family in dual stack, in the
	// same order of families as podSubnets.
	ServiceSubnets []string `json:"serviceSubnets,omitempty" default:"10.96.0.0/12"`
	// NodeMaskSizes are the prefix lengths of one machine's part of each pod subnet (24 for IPv4,
	// 64 for IPv6 by default), in the order of podSubnets.
	NodeMaskSizes []int `json:"nodeMaskSizes,omitempty"`
	// DNSDomain is the cluster's DNS domain.
	DNSDomain string `json:"dnsDomain,omitempty" default:"cluster.local"`
	// CNI is how pods reach each other. routed: a bridge, host-local addresses and one static route
	// per machine, for machines on one network segment. none: you bring one with addons.
	CNI string `json:"cni,omitempty" enum:"routed,none" default:"routed"`
	// MTU is the MTU of the pods' interfaces with cni routed; 0 takes the kernel's default.
	MTU int `json:"mtu,omitempty"`
	// Proxy is kube-proxy's mode; none leaves kube-proxy out.
	Proxy string `json:"proxy,omitempty" enum:"nftables,iptables,none" default:"nftables"`
}

// DNS is the cluster's DNS service.
type DNS struct {
	// Provider is coredns, or none if you bring one with addons.
	Provider string `json:"provider,omitempty" enum:"coredns,none" default:"coredns"`
	// Replicas is how many CoreDNS pods run.
	Replicas int `json:"replicas,omitempty" default:"2"`
}
