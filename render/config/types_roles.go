package config

// ControlPlane holds the settings of the control plane.
type ControlPlane struct {
	// Machines are the settings of the control-plane machines.
	Machines          Machine   `json:"machines,omitempty"`
	APIServer         APIServer `json:"apiServer,omitempty"`
	ControllerManager Component `json:"controllerManager,omitempty"`
	Scheduler         Component `json:"scheduler,omitempty"`
	Etcd              Etcd      `json:"etcd,omitempty"`
	// VIP lets kube-vip carry the endpoint's address, on one control plane at a time. {} is enough
	// if the endpoint is an address.
	VIP *VIP `json:"vip,omitempty"`
	// Patches are applied to the static pods and kubelet configurations of control planes and to
	// the API objects, after spec.patches.
	Patches []Patch `json:"patches,omitempty"`
}

// Component holds the settings of a control-plane component.
type Component struct {
	// ExtraArgs are further flags, without the leading dashes. One that kiln sets too replaces
	// kiln's value; a name may repeat.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
}

// APIServer holds the settings of kube-apiserver.
type APIServer struct {
	// ExtraArgs are further flags, without the leading dashes. One that kiln sets too replaces
	// kiln's value; a name may repeat.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
	// CertSANs are further names and addresses in the API server's certificate; wildcards are
	// allowed.
	CertSANs []string `json:"certSANs,omitempty"`
}

// VIP is the address of the endpoint that moves between the control planes, carried by a static pod
// of kube-vip on each.
type VIP struct {
	// Address is the address that is carried: the host of the endpoint, or what that name resolves
	// to. It is no machine's own.
	Address string `json:"address,omitempty" example:"10.0.0.10"`
	// Interface is the control planes' network interface that gets the address. By default it is
	// the one with the default route, and lo with mode bgp.
	Interface string `json:"interface,omitempty" example:"eth0"`
	// Mode is how others learn where the address is. arp: gratuitous ARP and neighbour
	// advertisements, for control planes on one network segment. bgp: a route to the routers in
	// bgp.peers.
	Mode string `json:"mode,omitempty" enum:"arp,bgp" default:"arp"`
	// BGP names the routers for mode bgp.
	BGP *BGP `json:"bgp,omitempty"`
}

// BGP is how the control planes talk to routers. Each one's router id follows from its own address.
// Sessions have no passwords: they would stand in the clear in the pod's environment.
type BGP struct {
	// LocalAS is the autonomous system of the control planes.
	LocalAS uint32 `json:"localAS" example:"65000"`
	// Peers are the routers; every control plane connects to each.
	Peers []BGPPeer `json:"peers" example:"[{address: 10.0.0.1, as: 65001}]"`
}

// BGPPeer is one router.
type BGPPeer struct {
	// Address is the router's address.
	Address string `json:"address" example:"10.0.0.1"`
	// AS is the router's autonomous system.
	AS uint32 `json:"as" example:"65001"`
	// MultiHop is for a router that is not on the control planes' own network segment.
	MultiHop bool `json:"multiHop,omitempty"`
}

// Etcd holds the settings of etcd: of its members, which are on the control planes or on the nodes
// with role etcd if there are any, or of an external cluster.
type Etcd struct {
	// Machines are the settings of the machines with role etcd, which carry a member of etcd and
	// nothing else of the cluster. They have no Node, so labels, taints and identity are not for
	// them.
	Machines Machine `json:"machines,omitempty"`
	// ExtraArgs are further flags of the members.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
	// External names an etcd cluster that somebody else runs; the control planes then have no
	// members.
	External *ExternalEtcd `json:"external,omitempty"`
	// AllowEvenMembers allows two or four members, which tolerate no more failures than one or
	// three.
	AllowEvenMembers bool `json:"allowEvenMembers,omitempty"`
	// Backup makes every member take snapshots of its data.
	Backup *EtcdBackup `json:"backup,omitempty"`
}

// EtcdBackup says when the members of etcd take snapshots, and where these stay.
type EtcdBackup struct {
	// Directory is the folder for the snapshots on the machine, best on a disk of its own; it is
	// made if it is missing. Whoever can read a snapshot has all of the cluster's objects.
	Directory string `json:"directory,omitempty" default:"/var/backups/etcd"`
	// Every is how often: a part of a day that fits whole, from 15m to 24h.
	Every Duration `json:"every,omitempty" default:"6h"`
	// Keep is how many snapshots stay; the oldest are removed.
	Keep int `json:"keep,omitempty" default:"12"`
}

// ExternalEtcd names an etcd cluster that somebody else runs.
type ExternalEtcd struct {
	// Endpoints are the members' client URLs.
	Endpoints []string `json:"endpoints" example:"[https://10.0.0.31:2379]"`
	// CAFrom is the file, beside cluster.yaml, with the CA that signed the members' certificates
	// (PEM).
	CAFrom string `json:"caFrom" example:"etcd/ca.crt"`
	// CertFrom is the file with the API server's client certificate (PEM).
	CertFrom string `json:"certFrom" example:"etcd/client.crt"`
	// KeyFrom is the file with that certificate's private key (PEM).
	KeyFrom string `json:"keyFrom" example:"etcd/client.key"`
}

// Workers holds the settings of the workers.
type Workers struct {
	// Machines are the settings of the worker machines.
	Machines Machine `json:"machines,omitempty"`
	// LocalBalancer gives every worker, also those of pools, a balancer of its own before the API
	// servers: kubelet, kube-proxy and first boot then need no endpoint. {} is enough. The endpoint
	// remains what admin.conf and everything outside the cluster use.
	LocalBalancer *LocalBalancer `json:"localBalancer,omitempty"`
	// Patches are applied to the static pods and kubelet configurations of workers, after
	// spec.patches.
	Patches []Patch `json:"patches,omitempty"`
}

// LocalBalancer is a static pod on every worker that listens on its loopback address and passes
// connections on to the control planes that were known when the document was rendered.
type LocalBalancer struct {
	// Type is the program. Its image is haproxy in spec.images.
	Type string `json:"type,omitempty" enum:"haproxy" default:"haproxy"`
	// Port is the port on the loopback address. kube-proxy, which has one configuration for all
	// machines, uses the balancer with the API servers' own port only, and the endpoint with any
	// other.
	Port int `json:"port,omitempty" default:"6443"`
}
