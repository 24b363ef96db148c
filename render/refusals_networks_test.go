package render_test

import (
	"net/netip"

	"kiln.dev/kiln/render/plan"
)

// portRefusals has the rows for ports.
var portRefusals = []refusal{
	{"port twice", "", pod("kube-scheduler", "--leader-elect=true", "--secure-port=10257"),
		"static pod kube-scheduler: --secure-port: port 10257 is already taken by static pod " +
			"kube-controller-manager"},
	{"port of kube-proxy", "ha/worker-1", edit(plan.KubeletConfig, "10248", "10249"),
		"ConfigMap kube-proxy: metricsBindAddress: port 10249 is already taken by file " +
			"/var/lib/kubelet/config.yaml: healthzPort"},
	{"port of a sidecar", "", pod("kube-scheduler", "  containers:\n",
		"  containers:\n  - {name: agent, image: agent, ports: [{containerPort: 10250}]}\n"),
		"static pod kube-scheduler: container agent: containerPort: port 10250 is already " +
			"taken by file /var/lib/kubelet/config.yaml: port"},
	{"port of a name", "", pod("etcd", "http://127.0.0.1:2381", "http://metrics:2381"),
		`static pod etcd: --listen-metrics-urls: "metrics:2381" is not an address and port`},
	{"probe of another port", "", pod("kube-scheduler", "containerPort: 10259",
		"containerPort: 10251"), "static pod kube-scheduler: livenessProbe: asks " +
		"https://127.0.0.1:10251, where static pod kube-scheduler does not listen"},
	{"probe of another address", "",
		pod("kube-controller-manager", "--bind-address=127.0.0.1", "--bind-address=10.0.0.11"),
		"static pod kube-controller-manager: startupProbe: asks https://127.0.0.1:10257"},
	{"probe of another scheme", "", pod("etcd", "scheme: HTTP", "scheme: HTTPS"),
		"static pod etcd: readinessProbe: asks https://127.0.0.1:2381"},
	{"clients of another port", "", pod("kube-apiserver", "6443", "8443"),
		"file /etc/kubernetes/controller-manager.conf: server: asks https://10.0.0.11:6443"},
	{"etcd's clients of another port", "",
		pod("kube-apiserver", "127.0.0.1:2379", "127.0.0.1:4001"),
		"static pod kube-apiserver: --etcd-servers: asks https://127.0.0.1:4001"},
	{"etcd's gateway on another port", "", pod("etcd",
		"--listen-client-http-urls=https://10.0.0.11:2378",
		"--listen-client-http-urls=https://10.0.0.11:4001"),
		"the hook of each member, and the backup: asks https://10.0.0.11:2378"},
	{"the hook's port", "ha/worker-1", edit(plan.KubeletConfig, "10248", "10247"),
		"file /etc/kiln/boot: asks http://127.0.0.1:10248"},
}

// imageRefusals has the rows for images.
var imageRefusals = []refusal{
	{"image of a static pod", "",
		pod("etcd", "registry.k8s.io/etcd:", "registry.example.com/etcd:"),
		`static pod etcd: has the image "registry.example.com/etcd:3.6.11-0", kiln images ` +
			`lists "registry.k8s.io/etcd:3.6.11-0"; set spec.images.etcd`},
	{"image of an object", "",
		editObject("Deployment", "coredns", "registry.k8s.io", "registry.example.com"),
		`Deployment coredns: has the image "registry.example.com/coredns/coredns:`},
	{"image of the sandbox", "ha/worker-1",
		edit("/etc/containerd/config.toml", "/pause:", "/sandbox:"),
		`file /etc/containerd/config.toml: want the sandbox image "registry.k8s.io/pause:`},
	{"static pod without a digest", lockedCase + "/cp-1",
		pod("kube-apiserver", "kube-apiserver:v1.36.3@", "kube-apiserver:v1.36.3 #"),
		`static pod kube-apiserver: the image "registry.k8s.io/kube-apiserver:v1.36.3" has ` +
			`not the digest of the lock`},
	{"image of an add-on without its digest", lockedCase + "/cp-1",
		editObject("Deployment", "web", "nginx:1.29@sha256:", "nginx:1.30 #"),
		`Deployment web: nginx: the image "nginx:1.30" has not the digest of the lock`},
}

// networkRefusals has the rows for networks and the addresses in them.
var networkRefusals = []refusal{
	{"Services of the API server", "", pod("kube-apiserver", "10.96.0.0/12", "10.112.0.0/12"),
		`static pod kube-apiserver: --service-cluster-ip-range is "10.112.0.0/12", the ` +
			`cluster's networks are "10.96.0.0/12"`},
	{"Services of the controller-manager", "", pod("kube-controller-manager", "10.96.0.0/12",
		"10.112.0.0/12"), "static pod kube-controller-manager: --service-cluster-ip-range is"},
	{"pods of the controller-manager", "", pod("kube-controller-manager", "10.244.0.0/16",
		"10.245.0.0/16"), "static pod kube-controller-manager: --cluster-cidr is"},
	{"pods of kube-proxy", "", editObject("ConfigMap", "kube-proxy", "10.244.0.0/16",
		"10.245.0.0/16"), `ConfigMap kube-proxy: clusterCIDR is "10.245.0.0/16"`},
	{"pods and Services", "", func(m *machine) {
		m.own()
		m.r.Plan.PodSubnets[0] = netip.MustParsePrefix("10.96.0.0/16")
	}, "pod subnet 10.96.0.0/16 overlaps service subnet 10.96.0.0/12"},
	{"machine among the pods", "ha/worker-1", func(m *machine) {
		m.own()
		m.m.Addresses[0] = netip.MustParseAddr("10.244.0.9")
	}, "node worker-1: address 10.244.0.9 lies in 10.244.0.0/16"},
	{"DNS outside the Services", "", editObject("Service", "kube-dns", "10.96.0.10", "10.112.0.10"),
		`Service kube-dns: "10.112.0.10" lies in no service subnet`},
	{"DNS of the kubelet", "ha/worker-1", edit(plan.KubeletConfig, "10.96.0.10", "10.96.0.11"),
		`file /var/lib/kubelet/config.yaml: clusterDNS: nothing answers at "10.96.0.11"; ` +
			"write the address of the Service kube-dns (10.96.0.10)"},
}
