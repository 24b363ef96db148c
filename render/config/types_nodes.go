package config

// Node is one machine known by name.
type Node struct {
	// Name is the machine's host name and the Node's name: an RFC 1123 subdomain of at most 63
	// characters.
	Name string `json:"name" example:"worker-1"`
	// Role is what the machine is. etcd: it carries a member of etcd, and no control plane does;
	// see docs/etcd.md.
	Role string `json:"role" enum:"control-plane,worker,etcd"`
	// Addresses are the machine's IP addresses, one for each family of the cluster, the main family
	// first.
	Addresses []string `json:"addresses" example:"[10.0.0.11]"`
	// PodCIDRs are the machine's parts of the pod subnets with cni routed; an etcd machine has
	// none. By default they follow from the machine's addresses: 10.0.0.21 with pods in
	// 10.244.0.0/16 gets 10.244.21.0/24.
	PodCIDRs []string `json:"podCIDRs,omitempty"`
	// MAC is the MAC address of one of the machine's interfaces, in any of the usual spellings; a
	// machine that boots from the network is told by it which document is its own. Where it is
	// given, the first boot stops on another machine.
	MAC string `json:"mac,omitempty" example:"52:54:00:12:34:56"`
	// ProductUUID is the UUID that the machine's firmware gives it (SMBIOS system UUID,
	// /sys/class/dmi/id/product_uuid). Where it is given, the first boot stops on another machine.
	ProductUUID string `json:"productUUID,omitempty" example:"8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"`
	// Interfaces are the machine's network interfaces, where the platform does not configure them:
	// as cloud-init's network-config, or as files of the program that configures interfaces on a
	// system with Ignition. docs/interfaces.md shows them. Beside them there is no networkConfig.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Patches are applied to this machine's static pods and kubelet configuration, last.
	Patches []Patch `json:"patches,omitempty"`

	Machine `json:",inline"`
}

// Pool is a group of worker machines that boot from one document.
type Pool struct {
	// Name is the pool's name, an RFC 1123 label.
	Name string `json:"name" example:"blue"`
	// TokenLifetime is how long after the bundle's issue time the pool's bootstrap token lets
	// machines join.
	TokenLifetime Duration `json:"tokenLifetime,omitempty" default:"168h"`
	// NodeName is where a machine has its name from, which is its Node's, at its first boot.
	// hostname: what DHCP, the image or the platform has made the host's name; localhost is waited
	// out. metadata: what the platform's metadata service calls it, as the platform's cloud
	// controller wants it (aws, azure, gcp, openstack).
	NodeName string `json:"nodeName,omitempty" enum:"hostname,metadata" default:"hostname"`
	// NodeAddress says which of a machine's addresses is its Node's. By default it is the one that
	// packets leave from by the default route.
	NodeAddress NodeAddress `json:"nodeAddress,omitempty"`
	// Patches are applied to the pool's kubelet configuration, last.
	Patches []Patch `json:"patches,omitempty"`

	Machine `json:",inline"`
}

// NodeAddress says where a machine of a pool has its Node's address: the first one, of each family
// of the cluster, that is on the interface and in a network.
type NodeAddress struct {
	// Interface is the name of the interface.
	Interface string `json:"interface,omitempty" example:"eth1"`
	// Networks are the networks, at most one of each family.
	Networks []string `json:"networks,omitempty" example:"[10.8.0.0/16]"`
}

// Interface is a network interface of a machine: one of its own, known by its name or by its MAC
// address, or a bond or VLAN that is made of others.
type Interface struct {
	// Name is the interface's name. With mac, the interface of that address is given this name;
	// without a name it gets the one that systemd makes of the address, such as enx525400123456.
	Name string `json:"name,omitempty" example:"eth0"`
	// MAC is the address by which the interface is found, in any of the usual spellings. Bonds and
	// VLANs have none.
	MAC string `json:"mac,omitempty" example:"52:54:00:12:34:56"`
	// Addresses are the interface's own addresses, with the prefix length of their network.
	Addresses []string `json:"addresses,omitempty" example:"[10.0.0.11/24]"`
	// DHCP4 asks for an IPv4 address.
	DHCP4 bool `json:"dhcp4,omitempty"`
	// DHCP6 asks for IPv6 addresses, by DHCP and of the routers.
	DHCP6 bool `json:"dhcp6,omitempty"`
	// Gateways are the default routers, at most one of each family, in a network of the interface.
	Gateways []string `json:"gateways,omitempty" example:"[10.0.0.1]"`
	// Routes are further routes through this interface.
	Routes []Route `json:"routes,omitempty"`
	// Nameservers are the addresses of DNS servers.
	Nameservers []string `json:"nameservers,omitempty" example:"[10.0.0.2]"`
	// SearchDomains are the domains that short names are looked up in.
	SearchDomains []string `json:"searchDomains,omitempty" example:"[example.com]"`
	// MTU is the largest packet in bytes, 1280 to 65535; 0 is the kernel's default, or DHCP's.
	MTU int `json:"mtu,omitempty"`
	// Bond makes this interface a bond of others in the list.
	Bond *Bond `json:"bond,omitempty"`
	// VLAN makes this interface a VLAN on another in the list.
	VLAN *VLAN `json:"vlan,omitempty"`
}

// Route is a route through an interface.
type Route struct {
	// To is the network behind the router.
	To string `json:"to" example:"10.1.0.0/16"`
	// Via is the router, in a network of the interface.
	Via string `json:"via" example:"10.0.0.254"`
	// Metric decides between routes to the same network, the lowest wins; 0 is the system's
	// default. cloud-init knows metrics on ubuntu and debian alone.
	Metric int `json:"metric,omitempty"`
}

// Bond is an interface that is made of several, its members, which have no addresses of their own.
type Bond struct {
	// Members are the names of the interfaces.
	Members []string `json:"members" example:"[eth0, eth1]"`
	// Mode says how the members share the work.
	Mode string `json:"mode" enum:"active-backup,802.3ad,balance-rr,balance-xor,broadcast,balance-tlb,balance-alb"`
	// MIIMon is how often the members' links are looked at, in milliseconds, 1 to 60000.
	MIIMon int `json:"miimon,omitempty" default:"100"`
	// LACPRate is how often the other side is asked for its state, every 30 seconds or every
	// second, with mode 802.3ad.
	LACPRate string `json:"lacpRate,omitempty" enum:"slow,fast"`
	// TransmitHashPolicy is what of a packet decides which member sends it, with modes 802.3ad,
	// balance-xor and balance-tlb.
	TransmitHashPolicy string `json:"transmitHashPolicy,omitempty" enum:"layer2,layer2+3,layer3+4,encap2+3,encap3+4"`
	// Primary is the member that is used as long as its link is up, with modes active-backup,
	// balance-tlb and balance-alb.
	Primary string `json:"primary,omitempty"`
}

// VLAN is an interface that carries one VLAN of another.
type VLAN struct {
	// ID is the VLAN's number, 1 to 4094.
	ID int `json:"id" example:"100"`
	// Link is the name of the interface, or bond, that it is on.
	Link string `json:"link" example:"bond0"`
}
