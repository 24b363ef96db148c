package render_test

import (
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// etcdRefusals has the rows for etcd machines and for members on machines of their own.
var etcdRefusals = []refusal{
	{name: "CA key on an etcd machine", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.mark("/etc/hostname", "ca g1")
		}, want: "file /etc/hostname: must not hold the secret ca g1"},
	{name: "API server's key on an etcd machine", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.file(etcdKey).Secret = "apiserver-etcd-client/cp-1 g1"
		}, want: "file /etc/etcd/pki/server.key: must not hold the secret " +
			"apiserver-etcd-client/cp-1 g1: it is for control planes with an etcd of kiln's"},
	{name: "member's key on a control plane without one", cluster: "etcd-machines",
		breaks: func(m *machine) {
			m.mark("/etc/hostname", "etcd-server/cp-1 g1")
		}, want: "file /etc/hostname: must not hold the secret etcd-server/cp-1 g1: it is for " +
			"control planes, etcd machines with a member of etcd"},
	{name: "no key of its member", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.remove(etcdKey)
		}, want: "static pod etcd: --key-file: names /etc/etcd/pki/server.key, which the machine " +
			"does not have"},
	{name: "no member", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) {
		m.remove(plan.ManifestsDir + "/etcd.yaml")
	}, want: "static pod etcd: an etcd machine needs a container of this name"},
	{name: "kubelet that serves without an API server", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.edit(plan.KubeletConfig, "enableServer: false", "enableServer: true")
		}, want: "file /var/lib/kubelet/config.yaml: want enableServer: false and readOnlyPort: 0"},
	{name: "kubelet that serves by a flag", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.edit(dropIn, "--node-ip", "--enable-server=true \\\n  --node-ip")
		}, want: "kubelet.service: --enable-server is true"},
	{name: "kubelet that joins from an etcd machine", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.edit(dropIn, "--node-ip", "--kubeconfig=/etc/kubernetes/kubelet.conf \\\n  --node-ip")
		}, want: "kubelet.service: --kubeconfig is /etc/kubernetes/kubelet.conf, and an etcd " +
			"machine is no Node"},
	{name: "API server without a member", cluster: "etcd-machines", breaks: func(m *machine) {
		m.pod("kube-apiserver", ",https://10.0.0.33:2379", "")
	}, want: "static pod kube-apiserver: --etcd-servers is"},
	{name: "API server that trusts another etcd", cluster: "etcd-machines",
		breaks: func(m *machine) {
			m.pod("kube-apiserver", "--etcd-cafile="+plan.EtcdCA, "--etcd-cafile="+plan.CACert)
		}, want: "static pod kube-apiserver: --etcd-cafile: /etc/kubernetes/pki/ca.crt does not " +
			"hold the CA"},
	{name: "API server whom members do not know", cluster: "etcd-machines",
		breaks: func(m *machine) {
			m.swap(plan.PKIDir+"/apiserver-etcd-client.crt", plan.PKIDir+"/scheduler.crt")
		}, want: "static pod kube-apiserver: --etcd-certfile: " +
			"/etc/kubernetes/pki/apiserver-etcd-client.crt: the members of etcd do not accept it"},
	{name: "member of another machine", cluster: "etcd-machines", machine: "etcd-1",
		breaks: func(m *machine) {
			m.pod("etcd", "etcd-2=https://10.0.0.32", "etcd-2=https://10.0.0.12")
		}, want: "static pod etcd: --initial-cluster: etcd-2=https://10.0.0.12:2380: no machine " +
			"has a certificate of etcd's"},
}

// endpointRefusals has the rows for what leads to the API servers: kube-vip and the balancer.
var endpointRefusals = []refusal{
	{name: "vip of another cluster", cluster: "vip", breaks: func(m *machine) {
		m.pod("kube-vip", "value: 10.0.0.10", "value: 10.0.0.9")
	}, want: `static pod kube-vip: carries "10.0.0.9", want 10.0.0.10`},
	{name: "vip without a name in the certificate", cluster: "vip", breaks: func(m *machine) {
		m.reissue("apiserver", func(s *pki.Spec) { s.Names.IPs = s.Names.IPs[1:] })
	}, want: "controlPlane.vip: https://10.0.0.10:6443: the API server on cp-1 has no certificate"},
	{name: "kube-vip that asks through its own address", cluster: "vip", breaks: func(m *machine) {
		m.pod("kube-vip", "https://10.0.0.11:6443", "https://10.0.0.10:6443")
	}, want: `static pod kube-vip: kubernetes_addr is "https://10.0.0.10:6443", another ` +
		`machine's API server`},
	{name: "kube-vip that asks the wrong port", cluster: "vip", breaks: func(m *machine) {
		m.pod("kube-vip", "https://10.0.0.11:6443", "https://10.0.0.11:6444")
	}, want: "static pod kube-vip: kubernetes_addr: asks https://10.0.0.11:6444"},
	{name: "kube-vip with the install credential", cluster: "vip", breaks: func(m *machine) {
		m.pod("kube-vip", "path: /etc/kubernetes/kube-vip.conf", "path: /etc/kubernetes/admin.conf")
	}, want: "static pod kube-vip: --kubeconfig: /etc/kubernetes/pki/install.crt is in no volume " +
		"of the pod"},
	{name: "kube-vip as somebody else", cluster: "vip", breaks: func(m *machine) {
		m.edit(plan.VIPConf, "kube-vip.crt", "scheduler.crt")
		m.edit(plan.VIPConf, "kube-vip.key", "scheduler.key")
	}, want: "static pod kube-vip: kubeconfig: /etc/kubernetes/pki/scheduler.crt is for " +
		"CN=system:kube-scheduler, want the name kube-vip"},
	{name: "kube-vip without a kubeconfig", cluster: "vip", breaks: func(m *machine) {
		m.pod("kube-vip", "mountPath: /etc/kubernetes/admin.conf", "mountPath: /root/config")
	}, want: "static pod kube-vip: /etc/kubernetes/admin.conf is no kubeconfig of this machine"},
	{name: "kube-vip without rights", cluster: "vip", objects: without("RoleBinding", "kube-vip"),
		want: "objects: no RoleBinding in kube-system gives User kube-vip the Role kube-vip"},
	{name: "no kube-vip", cluster: "vip", breaks: func(m *machine) {
		m.remove(plan.ManifestsDir + "/kube-vip.yaml")
	}, want: "static pod kube-vip: a control plane needs a container of this name"},
	{name: "kube-vip's probes", cluster: "vip", breaks: func(m *machine) {
		m.pod("kube-vip", "containerPort: 2112", "containerPort: 2113")
	}, want: `static pod kube-vip: says that it listens at 127.0.0.1:2113, and prometheus_server ` +
		`is "127.0.0.1:2112"`},
	{name: "no balancer", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) {
		m.remove(plan.ManifestsDir + "/haproxy.yaml")
	}, want: "static pod haproxy: a worker with a balancer needs a container of this name"},
	{name: "balancer without a configuration", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.remove(plan.BalancerConf)
		}, want: "static pod haproxy: -f names no configuration of this machine"},
	{name: "balancer with an old sum", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.edit(plan.BalancerConf, "nbthread 1", "nbthread 2")
		}, want: "static pod haproxy: the annotation kiln.dev/config-sha256 is not the sum of " +
			"/etc/kubernetes/haproxy.cfg"},
	{name: "balancer to another machine", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.edit(plan.BalancerConf, "10.0.0.13", "10.0.0.99")
		}, want: `"cp-3=10.0.0.99:6443"]`},
	{name: "balancer that cannot read", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.file(plan.BalancerConf).Mode = 0o600
		}, want: "static pod haproxy: --f: the pod's user 99 cannot read " +
			"/etc/kubernetes/haproxy.cfg"},
	{name: "balancer without the CA", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.pod("haproxy", "mountPath: /etc/kubernetes/pki/ca.crt", "mountPath: /ca.crt")
		}, want: "static pod haproxy: --f: /etc/kubernetes/pki/ca.crt is in no volume of the pod"},
	{name: "balancer on another port", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.pod("haproxy", "containerPort: 6443", "containerPort: 7443")
		}, want: "static pod haproxy: says that it listens at 127.0.0.1:7443"},
	{name: "kubelet beside the balancer", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.edit(plan.KubeletConf, "127.0.0.1:6443", "127.0.0.1:7443")
		}, want: "file /etc/kubernetes/kubelet.conf: server: asks https://127.0.0.1:7443"},
	{name: "hook beside the balancer", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.edit(hookMachine, "127.0.0.1:6443", "127.0.0.1:7443")
		}, want: "file /etc/kiln/machine: api: asks https://127.0.0.1:7443"},
	{name: "kube-proxy's port on a worker", cluster: "balancer", machine: "worker-1",
		breaks: func(m *machine) {
			m.pod("haproxy", "containerPort: 6444", "containerPort: 10256")
		}, want: "port 10256 is already taken"},
}
