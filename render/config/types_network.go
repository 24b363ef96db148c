package config

// Network describes the networks of pods and services.
type Network struct {
	// PodSubnets are the networks of the pods: one, or one of each family (IPv4 and IPv6). The
	// family of the first one is the main family of the cluster.
	PodSubnets []string `json:"podSubnets,omitempty" default:"10.244.0.0/16"`
	// ServiceSubnets are the networks of the services: one, or one of each family. The families
	// have the order of podSubnets.
	ServiceSubnets []string `json:"serviceSubnets,omitempty" default:"10.96.0.0/12"`
	// NodeMaskSizes are the prefix lengths of one machine's part of each pod subnet. They have the
	// order of podSubnets. The default is 24 for IPv4 and 64 for IPv6. With cni routed a part has
	// at least as many addresses as the machine may have pods (kubelet.maxPods, 110 by default).
	NodeMaskSizes []int `json:"nodeMaskSizes,omitempty"`
	// DNSDomain is the DNS domain of the cluster.
	DNSDomain string `json:"dnsDomain,omitempty" default:"cluster.local"`
	// CNI is how pods reach each other. flannel: with Flannel, whose objects kiln renders. routed:
	// through a bridge, host-local addresses and a route to each other machine. The machines learn
	// of each other from the API server, so a new machine changes no document of another. none: you
	// bring a CNI plugin with addons. Nothing enforces a NetworkPolicy with flannel or routed
	// (docs/pod-networks.md).
	CNI string `json:"cni,omitempty" enum:"flannel,routed,none" default:"flannel"`
	// Flannel are the settings of Flannel, with cni flannel. Its backend and port are for the life
	// of the cluster.
	Flannel Flannel `json:"flannel,omitempty"`
	// VXLAN says when packets of pods travel inside UDP packets, with cni routed. They go to port
	// 4789 of the other machine. auto: where the other machine is on another network segment, and
	// on platforms whose network drops the packets of pods (docs/platforms.md). always: between all
	// machines. never: all machines are on one network segment, and no router of the platform is
	// between them.
	VXLAN string `json:"vxlan,omitempty" enum:"auto,always,never" default:"auto"`
	// Encryption encrypts the packets of pods between machines. wireguard: with the kernel's
	// WireGuard, in UDP packets to port 51820 of the other machine, in place of VXLAN. With cni
	// routed the machines need its program wg (docs/pod-networks.md). It is for the life of the
	// cluster. none: packets are in clear.
	Encryption string `json:"encryption,omitempty" enum:"none,wireguard" default:"none"`
	// MTU is the MTU of the pods' interfaces with cni routed. With 0 the kernel chooses, 1500
	// nearly everywhere. VXLAN needs 50 bytes of a packet, and 70 over IPv6; encryption needs 80.
	// What is larger is divided, or sent again in smaller packets.
	MTU int `json:"mtu,omitempty"`
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
