package target

// Ports of the control plane, of the kubelet and of kube-proxy (kubernetes.io: "Ports and
// Protocols").
const (
	APIServerPort      = 6443
	EtcdHTTPPort       = 2378 // of etcd's JSON gateway; kiln's own choice
	EtcdClientPort     = 2379
	EtcdPeerPort       = 2380
	EtcdMetricsPort    = 2381
	KubeletHealthPort  = 10248
	ProxyMetricsPort   = 10249
	KubeletPort        = 10250
	KubeletReadPort    = 10255
	ProxyHealthPort    = 10256
	ManagerPort        = 10257
	SchedulerPort      = 10259
	FirstNodePort      = 30000
	LastNodePort       = 32767
	VIPMetricsPort     = 2112 // of kube-vip; its probes ask it too
	BalancerHealthPort = 6444 // of the balancer on a worker; kiln's own choice
	// FlannelHealthPort is on loopback. Flannel's default, 8081, is often taken by pods on the
	// host's network.
	FlannelHealthPort = 6445
)

// VXLANPort is the UDP port to which Flannel sends packets of pods: the kernel's default.
const VXLANPort = 8472

// WireGuardPort is the first UDP port of Flannel's backend wireguard, Flannel's default.
const WireGuardPort = 51820
