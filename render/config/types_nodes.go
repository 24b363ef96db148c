package config

// Node is one machine that is known by name.
type Node struct {
	// Name is the host name of the machine and the name of its Node. It is an RFC 1123 subdomain of
	// at most 63 characters.
	Name string `json:"name" example:"worker-1" is:"name"`
	// Role is what the machine is for. etcd: the machine runs a member of etcd, and no control
	// plane does; docs/etcd.md has more.
	Role string `json:"role" enum:"control-plane,worker,etcd"`
	// Addresses are the IP addresses of the machine, one of each family of the cluster. The main
	// family is first. They do not configure it: it has them from DHCP, its platform, or
	// interfaces.
	Addresses []string `json:"addresses" example:"[10.0.0.11]" is:"address"`
	// MAC is the MAC address of one of the machine's interfaces. It may have any of the usual
	// notations. A machine that boots from the network gets its document by this address. If mac is
	// set, the first boot stops on every other machine.
	MAC string `json:"mac,omitempty" example:"52:54:00:12:34:56"`
	// ProductUUID is the UUID that the firmware of the machine has. It is the system UUID of
	// SMBIOS, in /sys/class/dmi/id/product_uuid. If it is set, the first boot stops on every other
	// machine, and on one without SMBIOS, such as many of arm64: write mac for those.
	ProductUUID string `json:"productUUID,omitempty" example:"8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"`
	// Interfaces are the network interfaces of the machine, if the platform does not configure
	// them. cloud-init gets them as network-config; a system with Ignition gets files of the
	// program that configures its interfaces. docs/interfaces.md has examples. A node with
	// interfaces has no networkConfig.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Patches change the static pods and the kubelet configuration of this machine. kiln applies
	// them last.
	Patches []Patch `json:"patches,omitempty"`

	Machine `json:",inline"`
}

// Pool is a group of worker machines that boot from one document.
type Pool struct {
	// Name is the name of the pool, an RFC 1123 label.
	Name string `json:"name" example:"blue" is:"label"`
	// TokenLifetime is how long machines may join with the bootstrap token of the pool. The time
	// begins at the issue time of the bundle.
	TokenLifetime Duration `json:"tokenLifetime,omitempty" default:"168h"`
	// NodeName is the source of a machine's name at its first boot. The name is also the name of
	// its Node. hostname: the host name that DHCP, the image or the platform has set; localhost
	// does not count, the first boot waits for another. metadata: the name that the platform's
	// metadata service says, as the platform's cloud controller wants it (aws, azure, gcp,
	// openstack).
	NodeName string `json:"nodeName,omitempty" enum:"hostname,metadata" default:"hostname"`
	// NodeAddress says which address of a machine is the address of its Node. By default it is the
	// source address of packets on the default route.
	NodeAddress NodeAddress `json:"nodeAddress,omitempty"`
	// Patches change the kubelet configuration of the pool. kiln applies them last.
	Patches []Patch `json:"patches,omitempty"`

	Machine `json:",inline"`
}

// NodeAddress says which address of a pool's machine is the address of its Node: the first one, of
// each family of the cluster, that is on the interface and in one of the networks.
type NodeAddress struct {
	// Interface is the name of the interface.
	Interface string `json:"interface,omitempty" example:"eth1"`
	// Networks are the networks, at most one of each family.
	Networks []string `json:"networks,omitempty" example:"[10.8.0.0/16]" is:"network"`
}

// Interface is a network interface of a machine: a network card, which its name or MAC address
// identifies, or a bond or VLAN that is made of others.
type Interface struct {
	// Name is the name of the interface. If mac is set too, the interface with that address gets
	// this name. If only mac is set, the interface gets the name that systemd makes of the address,
	// such as enx525400123456.
	Name string `json:"name,omitempty" example:"eth0"`
	// MAC is the MAC address by which the interface is found, in any of the usual notations. Bonds
	// and VLANs have none.
	MAC string `json:"mac,omitempty" example:"52:54:00:12:34:56"`
	// Addresses are the addresses of the interface, each with the prefix length of its network.
	Addresses []string `json:"addresses,omitempty" example:"[10.0.0.11/24]" is:"network"`
	// DHCP4 asks for an IPv4 address.
	DHCP4 bool `json:"dhcp4,omitempty"`
	// DHCP6 asks for IPv6 addresses, from DHCP and from the routers.
	DHCP6 bool `json:"dhcp6,omitempty"`
	// Gateways are the default routers, at most one of each family. Each is in a network of the
	// interface.
	Gateways []string `json:"gateways,omitempty" example:"[10.0.0.1]" is:"address"`
	// Routes are further routes through this interface.
	Routes []Route `json:"routes,omitempty"`
	// Nameservers are the addresses of DNS servers.
	Nameservers []string `json:"nameservers,omitempty" example:"[10.0.0.2]" is:"address"`
	// SearchDomains are the domains in which short names are looked up.
	SearchDomains []string `json:"searchDomains,omitempty" example:"[example.com]" is:"name"`
	// MTU is the largest packet in bytes, 1280 to 65535. With 0 the kernel or DHCP chooses.
	MTU int `json:"mtu,omitempty"`
	// Bond makes this interface a bond of others in the list.
	Bond *Bond `json:"bond,omitempty"`
	// VLAN makes this interface a VLAN on another in the list.
	VLAN *VLAN `json:"vlan,omitempty"`
}

// Route is a route through an interface.
type Route struct {
	// To is the network behind the router.
	To string `json:"to" example:"10.1.0.0/16" is:"network"`
	// Via is the address of the router. It is in a network of the interface.
	Via string `json:"via" example:"10.0.0.254" is:"address"`
	// Metric decides between routes to the same network: the lowest wins. With 0 the system
	// chooses. cloud-init knows metrics on ubuntu and debian alone.
	Metric int `json:"metric,omitempty"`
}

// Bond combines several interfaces, its members. The members have no addresses of their own.
type Bond struct {
	// Members are the names of the interfaces.
	Members []string `json:"members" example:"[eth0, eth1]"`
	// Mode is how the members share the traffic.
	Mode string `json:"mode" table:"bondModes"`
	// MIIMon is the time between two checks of the members' links in milliseconds, 1 to 60000.
	MIIMon int `json:"miimon,omitempty" default:"100"`
	// LACPRate is how often the other side is asked for its state. It is for the mode 802.3ad.
	// slow: every 30 seconds. fast: every second.
	LACPRate string `json:"lacpRate,omitempty" enum:"slow,fast"`
	// TransmitHashPolicy is the part of a packet that decides which member sends it. It is for the
	// modes 802.3ad, balance-xor and balance-tlb.
	TransmitHashPolicy string `json:"transmitHashPolicy,omitempty" table:"hashPolicies"`
	// Primary is the member that is used while its link is up. It is for the modes active-backup,
	// balance-tlb and balance-alb.
	Primary string `json:"primary,omitempty"`
}

// VLAN carries one VLAN of another interface.
type VLAN struct {
	// ID is the number of the VLAN, 1 to 4094.
	ID int `json:"id" example:"100"`
	// Link is the name of the interface or bond that carries the VLAN.
	Link string `json:"link" example:"bond0"`
}
