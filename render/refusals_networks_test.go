package render_test

import (
	"net/netip"

	"kiln.dev/kiln/render/plan"
)

// portRefusals has the rows for ports.
var portRefusals = []refusal{
	{name: "port twice", breaks: func(m *machine) {
		m.pod("kube-scheduler", "--leader-elect=true", "--secure-port=10257")
	}, want: "static pod kube-scheduler: --secure-port: port 10257 is already taken by static " +
		"pod kube-controller-manager"},
	{name: "port of kube-proxy", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, "10248", "10249")
	}, want: "ConfigMap kube-proxy: metricsBindAddress: port 10249 is already taken by file " +
		"/var/lib/kubelet/config.yaml: healthzPort"},
	{name: "port of a sidecar", breaks: func(m *machine) {
		m.pod("kube-scheduler", "  containers:\n",
			"  containers:\n  - {name: agent, image: agent, ports: [{containerPort: 10250}]}\n")
	}, want: "static pod kube-scheduler: container agent: containerPort: port 10250 is already " +
		"taken by file /var/lib/kubelet/config.yaml: port"},
	{name: "port of a name", breaks: func(m *machine) {
		m.pod("etcd", "http://127.0.0.1:2381", "http://metrics:2381")
	}, want: `static pod etcd: --listen-metrics-urls: "metrics:2381" is not an address and port`},
	{name: "probe of another port", breaks: func(m *machine) {
		m.pod("kube-scheduler", "containerPort: 10259", "containerPort: 10251")
	}, want: "static pod kube-scheduler: livenessProbe: asks https://127.0.0.1:10251, where " +
		"static pod kube-scheduler does not listen"},
	{name: "probe of another address", breaks: func(m *machine) {
		m.pod("kube-controller-manager", "--bind-address=127.0.0.1", "--bind-address=10.0.0.11")
	}, want: "static pod kube-controller-manager: startupProbe: asks https://127.0.0.1:10257"},
	{name: "probe of another scheme", breaks: func(m *machine) {
		m.pod("etcd", "scheme: HTTP", "scheme: HTTPS")
	}, want: "static pod etcd: readinessProbe: asks https://127.0.0.1:2381"},
	{name: "clients of another port", breaks: func(m *machine) {
		m.pod("kube-apiserver", "6443", "8443")
	}, want: "file /etc/kubernetes/controller-manager.conf: server: asks https://10.0.0.11:6443"},
	{name: "etcd's clients of another port", breaks: func(m *machine) {
		m.pod("kube-apiserver", "127.0.0.1:2379", "127.0.0.1:4001")
	}, want: "static pod kube-apiserver: --etcd-servers: asks https://127.0.0.1:4001"},
	{name: "etcd's gateway on another port", breaks: func(m *machine) {
		m.pod("etcd", "--listen-client-http-urls=https://10.0.0.11:2378",
			"--listen-client-http-urls=https://10.0.0.11:4001")
	}, want: "the hook of each member, and the backup: asks https://10.0.0.11:2378"},
	{name: "the hook's port", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, "10248", "10247")
	}, want: "file /etc/kiln/boot: asks http://127.0.0.1:10248"},
}

// imageRefusals has the rows for images.
var imageRefusals = []refusal{
	{name: "image of a static pod", breaks: func(m *machine) {
		m.pod("etcd", "registry.k8s.io/etcd:", "registry.example.com/etcd:")
	}, want: `static pod etcd: has the image "registry.example.com/etcd:3.6.11-0", kiln images ` +
		`lists "registry.k8s.io/etcd:3.6.11-0"; set spec.images.etcd`},
	{name: "image of an object",
		objects: replaced("Deployment", "coredns", "registry.k8s.io", "registry.example.com"),
		want:    `Deployment coredns: has the image "registry.example.com/coredns/coredns:`},
	{name: "image of the sandbox", machine: "worker-1", breaks: func(m *machine) {
		m.edit("/etc/containerd/config.toml", "/pause:", "/sandbox:")
	}, want: `file /etc/containerd/config.toml: want the sandbox image "registry.k8s.io/pause:`},
	{name: "static pod without a digest", cluster: lockedCase, breaks: func(m *machine) {
		m.pod("kube-apiserver", "kube-apiserver:v1.36.3@", "kube-apiserver:v1.36.3 #")
	}, want: `static pod kube-apiserver: the image "registry.k8s.io/kube-apiserver:v1.36.3" has ` +
		`not the digest of the lock`},
	{name: "image of an add-on without its digest", cluster: lockedCase,
		objects: replaced("Deployment", "web", "nginx:1.29@sha256:", "nginx:1.30 #"),
		want:    `Deployment web: nginx: the image "nginx:1.30" has not the digest of the lock`},
}

// networkRefusals has the rows for networks and the addresses in them.
var networkRefusals = []refusal{
	{name: "Services of the API server", breaks: func(m *machine) {
		m.pod("kube-apiserver", "10.96.0.0/12", "10.112.0.0/12")
	}, want: `static pod kube-apiserver: --service-cluster-ip-range is "10.112.0.0/12", the ` +
		`cluster's networks are "10.96.0.0/12"`},
	{name: "Services of the controller-manager", breaks: func(m *machine) {
		m.pod("kube-controller-manager", "10.96.0.0/12", "10.112.0.0/12")
	}, want: "static pod kube-controller-manager: --service-cluster-ip-range is"},
	{name: "pods of the controller-manager", breaks: func(m *machine) {
		m.pod("kube-controller-manager", "10.244.0.0/16", "10.245.0.0/16")
	}, want: "static pod kube-controller-manager: --cluster-cidr is"},
	{name: "pods of kube-proxy",
		objects: replaced("ConfigMap", "kube-proxy", "10.244.0.0/16", "10.245.0.0/16"),
		want:    `ConfigMap kube-proxy: clusterCIDR is "10.245.0.0/16"`},
	{name: "pods and Services", fresh: true, breaks: func(m *machine) {
		m.r.Plan.PodSubnets[0] = netip.MustParsePrefix("10.96.0.0/16")
	}, want: "pod subnet 10.96.0.0/16 overlaps service subnet 10.96.0.0/12"},
	{name: "machine among the pods", fresh: true, machine: "worker-1", breaks: func(m *machine) {
		m.m.Addresses[0] = netip.MustParseAddr("10.244.0.9")
	}, want: "node worker-1: address 10.244.0.9 lies in 10.244.0.0/16"},
	{name: "DNS outside the Services",
		objects: replaced("Service", "kube-dns", "10.96.0.10", "10.112.0.10"),
		want:    `Service kube-dns: "10.112.0.10" lies in no service subnet`},
	{name: "DNS of the kubelet", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, "10.96.0.10", "10.96.0.11")
	}, want: `file /var/lib/kubelet/config.yaml: clusterDNS: nothing answers at "10.96.0.11"; ` +
		"write the address of the Service kube-dns (10.96.0.10)"},
}
