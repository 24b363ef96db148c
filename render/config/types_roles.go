package config

// ControlPlane holds the settings of the control plane.
type ControlPlane struct {
	// Machines holds the settings of the control-plane machines.
	Machines Machine `json:"machines,omitempty"`
	// APIServer holds the settings of kube-apiserver.
	APIServer APIServer `json:"apiServer,omitempty" of:"kube-apiserver"`
	// ControllerManager holds the settings of kube-controller-manager.
	ControllerManager Component `json:"controllerManager,omitempty" of:"kube-controller-manager"`
	// Scheduler holds the settings of kube-scheduler.
	Scheduler Component `json:"scheduler,omitempty" of:"kube-scheduler"`
	// Etcd holds the settings of etcd. Its members run on the control planes, on the nodes with
	// role etcd if there are any, or in an external cluster.
	Etcd Etcd `json:"etcd,omitempty" of:"etcd"`
	// VIP is an address of the endpoint that kube-vip moves between the control planes. One of them
	// has it at a time. If the endpoint is an address, {} is enough.
	VIP *VIP `json:"vip,omitempty"`
	// MetricsReaders are service accounts that read metrics: NAMESPACE/NAME. They read those of
	// controller-manager and scheduler, which then listen on all addresses of the machine (ports
	// 10257 and 10259, TLS) and ask the API server about each client. Those of etcd stay on
	// loopback (port 2381).
	MetricsReaders []string `json:"metricsReaders,omitempty" example:"[monitoring/prometheus]"`
	// Patches change the static pods and kubelet configurations of control planes. They change API
	// objects too. kiln applies them after spec.patches.
	Patches []Patch `json:"patches,omitempty"`
}

// Component holds the settings of a program of the control plane.
type Component struct {
	// ExtraArgs are further flags. A flag that kiln sets too replaces kiln's value. A flag may
	// occur more than once. The program of that minor must have it.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
}

// APIServer holds the settings of kube-apiserver.
type APIServer struct {
	// ExtraArgs are further flags. A flag that kiln sets too replaces kiln's value. A flag may
	// occur more than once. The program of that minor must have it.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
	// CertSANs are further names and addresses in the API server's certificate. Wildcards are
	// allowed.
	CertSANs []string `json:"certSANs,omitempty" is:"san"`
}

// VIP is an address of the endpoint that moves between the control planes. A static pod of kube-vip
// on each of them carries it.
type VIP struct {
	// Address is the address itself: that of the endpoint. If the endpoint is a name, write the
	// address to which it resolves. No machine may have it as its own.
	Address string `json:"address,omitempty" example:"10.0.0.10" is:"address"`
	// Interface is the network interface of the control planes that gets the address. The default
	// is the interface with the default route, or lo with mode bgp.
	Interface string `json:"interface,omitempty" example:"eth0"`
	// Mode is how others learn where the address is. arp: by gratuitous ARP and neighbour
	// advertisements; all control planes are on one network segment. bgp: by a route that the
	// routers in bgp.peers get.
	Mode string `json:"mode,omitempty" enum:"arp,bgp" default:"arp"`
	// BGP names the routers for mode bgp.
	BGP *BGP `json:"bgp,omitempty"`
}

// BGP says how the control planes talk to routers. The router id of each control plane is made of
// its own address. Sessions have no passwords, because these would be readable in the environment
// of the pod.
type BGP struct {
	// LocalAS is the number of the autonomous system of the control planes.
	LocalAS uint32 `json:"localAS" example:"65000"`
	// Peers are the routers. Every control plane connects to each of them.
	Peers []BGPPeer `json:"peers" example:"[{address: 10.0.0.1, as: 65001}]"`
}

// BGPPeer is one router.
type BGPPeer struct {
	// Address is the address of the router.
	Address string `json:"address" example:"10.0.0.1" is:"address"`
	// AS is the number of the router's autonomous system.
	AS uint32 `json:"as" example:"65001"`
	// MultiHop is for a router that is not on the network segment of the control planes.
	MultiHop bool `json:"multiHop,omitempty"`
}

// Etcd holds the settings of etcd. Its members run on the control planes, on the nodes with role
// etcd if there are any, or in an external cluster.
type Etcd struct {
	// Machines holds the settings of the machines with role etcd. Such a machine runs a member of
	// etcd and nothing else of the cluster. It has no Node, so it has no labels, taints or
	// identity.
	Machines Machine `json:"machines,omitempty"`
	// ExtraArgs are further flags of the members. The etcd of that minor must have them.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
	// External is an etcd cluster that kiln does not make. The control planes then have no members.
	External *ExternalEtcd `json:"external,omitempty"`
	// AllowEvenMembers allows an even number of members. Two or four members survive no more
	// failures than one or three.
	AllowEvenMembers bool `json:"allowEvenMembers,omitempty"`
	// Backup makes every member take snapshots of its data.
	Backup *EtcdBackup `json:"backup,omitempty"`
}

// EtcdBackup says when the members of etcd take snapshots, and where these stay.
type EtcdBackup struct {
	// Directory is the folder for the snapshots on the machine, best on a disk of its own. The
	// machine makes it if it is missing. Whoever can read a snapshot has all objects of the
	// cluster.
	Directory string `json:"directory,omitempty" default:"/var/backups/etcd"`
	// Every is the time between two snapshots: 15m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 24h.
	Every Duration `json:"every,omitempty" default:"6h"`
	// Keep is how many snapshots stay. The oldest are removed.
	Keep int `json:"keep,omitempty" default:"12"`
}

// ExternalEtcd is an etcd cluster that kiln does not make.
type ExternalEtcd struct {
	// Endpoints are the client URLs of the members.
	Endpoints []string `json:"endpoints" example:"[https://10.0.0.31:2379]" is:"secureURL"`
	// CAFrom is the file beside cluster.yaml with the certificate of a CA (PEM). The CA signed the
	// certificates of the members.
	CAFrom string `json:"caFrom" example:"etcd/ca.crt"`
	// CertFrom is the file with the API server's client certificate (PEM).
	CertFrom string `json:"certFrom" example:"etcd/client.crt"`
	// KeyFrom is the file with the private key of that certificate (PEM).
	KeyFrom string `json:"keyFrom" example:"etcd/client.key"`
}

// Workers holds the settings of the workers.
type Workers struct {
	// Machines holds the settings of the worker machines.
	Machines Machine `json:"machines,omitempty"`
	// LocalBalancer gives every worker a balancer of its own in front of the API servers. Workers
	// of pools have one too. The kubelet, kube-proxy and the first boot of workers then do not need
	// the endpoint. {} is enough. admin.conf and everything outside the cluster still use the
	// endpoint.
	LocalBalancer *LocalBalancer `json:"localBalancer,omitempty"`
	// Patches change the static pods and kubelet configurations of workers. kiln applies them after
	// spec.patches.
	Patches []Patch `json:"patches,omitempty"`
}

// LocalBalancer is a static pod on every worker. It listens on the worker's loopback address and
// passes connections on to the control planes that were known when the document was rendered.
type LocalBalancer struct {
	// Type is the program. Its image is haproxy in spec.images.
	Type string `json:"type,omitempty" enum:"haproxy" default:"haproxy"`
	// Port is the port on the loopback address. kube-proxy has one configuration for all machines:
	// it uses the balancer only on the API servers' own port, and the endpoint otherwise.
	Port int `json:"port,omitempty" default:"6443"`
}
