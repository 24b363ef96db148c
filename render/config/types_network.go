package config

// Network describes the networks of pods and services.
type Network struct {
	// PodSubnets are the networks of the pods: one, or one of each family (IPv4 and IPv6). The
	// family of the first one is the main family of the cluster.
	PodSubnets []string `json:"podSubnets,omitempty" default:"10.244.0.0/16" is:"network"`
	// ServiceSubnets are the networks of the services: one, or one of each family. The families
	// have the order of podSubnets.
	ServiceSubnets []string `json:"serviceSubnets,omitempty" default:"10.96.0.0/12" is:"network"`
	// NodeMaskSizes are the prefix lengths of one machine's part of each pod subnet. They have the
	// order of podSubnets. The default is 24 for IPv4 and 64 for IPv6. With cni flannel a part has
	// at least as many addresses as the machine may have pods (kubelet.maxPods, 110 by default).
	NodeMaskSizes []int `json:"nodeMaskSizes,omitempty"`
	// DNSDomain is the DNS domain of the cluster.
	DNSDomain string `json:"dnsDomain,omitempty" default:"cluster.local" is:"name"`
	// CNI is how pods reach each other. flannel: with Flannel, whose objects kiln renders; nothing
	// enforces a NetworkPolicy. none: you bring a CNI plugin with addons (docs/pod-networks.md).
	CNI string `json:"cni,omitempty" enum:"flannel,none" default:"flannel"`
	// Flannel are the settings of Flannel, with cni flannel. Its backend and port are for the life
	// of the cluster.
	Flannel Flannel `json:"flannel,omitempty"`
	// Encryption encrypts the packets of pods between machines, with cni flannel. wireguard: with
	// the kernel's WireGuard; it is for the life of the cluster. none: flannel.backend decides.
	Encryption string `json:"encryption,omitempty" enum:"none,wireguard" default:"none"`
	// Proxy is the mode of kube-proxy. none: there is no kube-proxy.
	Proxy string `json:"proxy,omitempty" enum:"nftables,iptables,none" default:"nftables"`
}

// Flannel are the settings of Flannel.
type Flannel struct {
	// Backend is how packets of pods travel between machines. vxlan: inside UDP packets. host-gw:
	// as they are; all machines are on one network segment, and no router of the platform is
	// between them. wireguard: encrypted by the kernel, inside UDP packets. The default is vxlan,
	// and wireguard with network.encryption.
	Backend string `json:"backend,omitempty" enum:"vxlan,host-gw,wireguard"`
	// DirectRouting sends packets as they are on one network segment, with vxlan.
	DirectRouting bool `json:"directRouting,omitempty"`
	// Port is the UDP port of vxlan, 8472 by default, or of wireguard, 51820 by default. With
	// wireguard and dual stack, packets between addresses of IPv6 go to the port after it.
	Port int `json:"port,omitempty"`
	// MTU is that of the network between the machines. Flannel subtracts what its own headers need.
	// With 0 it is that of each machine's interface. host-gw has none of its own.
	MTU int `json:"mtu,omitempty"`
}

// DNS describes the cluster's DNS service.
type DNS struct {
	// Provider is the program. none: you bring a DNS service with addons.
	Provider string `json:"provider,omitempty" enum:"coredns,none" default:"coredns"`
	// Replicas is the number of CoreDNS pods.
	Replicas int `json:"replicas,omitempty" default:"2"`
}
