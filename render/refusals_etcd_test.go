package render_test

import (
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// etcdRefusals has the rows for etcd machines and for members on machines of their own.
var etcdRefusals = []refusal{
	{"CA key on an etcd machine", "etcd-machines/etcd-1", mark("/etc/hostname", "ca g1"),
		"file /etc/hostname: must not hold the secret ca g1"},
	{"API server's key on an etcd machine", "etcd-machines/etcd-1",
		func(m *machine) { m.file(etcdKey).Secret = "apiserver-etcd-client/cp-1 g1" },
		"file /etc/etcd/pki/server.key: must not hold the secret apiserver-etcd-client/cp-1 " +
			"g1: it is for control planes with an etcd of kiln's"},
	{"member's key on a control plane without one", "etcd-machines/cp-1", mark("/etc/hostname",
		"etcd-server/cp-1 g1"), "file /etc/hostname: must not hold the secret " +
		"etcd-server/cp-1 g1: it is for control planes, etcd machines with a member of etcd"},
	{"no key of its member", "etcd-machines/etcd-1", remove(etcdKey),
		"static pod etcd: --key-file: names /etc/etcd/pki/server.key, which the machine does " +
			"not have"},
	{"no member", "etcd-machines/etcd-1", remove(plan.ManifestsDir + "/etcd.yaml"),
		"static pod etcd: an etcd machine needs a container of this name"},
	{"kubelet that serves without an API server", "etcd-machines/etcd-1",
		edit(plan.KubeletConfig, "enableServer: false", "enableServer: true"),
		"file /var/lib/kubelet/config.yaml: want enableServer: false and readOnlyPort: 0"},
	{"kubelet that serves by a flag", "etcd-machines/etcd-1", edit(dropIn, "--node-ip",
		"--enable-server=true \\\n  --node-ip"), "kubelet.service: --enable-server is true"},
	{"kubelet that joins from an etcd machine", "etcd-machines/etcd-1",
		edit(dropIn, "--node-ip", "--kubeconfig=/etc/kubernetes/kubelet.conf \\\n  --node-ip"),
		"kubelet.service: --kubeconfig is /etc/kubernetes/kubelet.conf, and an etcd machine " +
			"is no Node"},
	{"API server without a member", "etcd-machines/cp-1", pod("kube-apiserver",
		",https://10.0.0.33:2379", ""), "static pod kube-apiserver: --etcd-servers is"},
	{"API server that trusts another etcd", "etcd-machines/cp-1",
		pod("kube-apiserver", "--etcd-cafile="+plan.EtcdCA, "--etcd-cafile="+plan.CACert),
		"static pod kube-apiserver: --etcd-cafile: /etc/kubernetes/pki/ca.crt does not hold " +
			"the CA"},
	{"API server whom members do not know", "etcd-machines/cp-1",
		swap(plan.PKIDir+"/apiserver-etcd-client.crt", plan.PKIDir+"/scheduler.crt"),
		"static pod kube-apiserver: --etcd-certfile: " +
			"/etc/kubernetes/pki/apiserver-etcd-client.crt: the members of etcd do not accept " +
			"it"},
	{"member of another machine", "etcd-machines/etcd-1", pod("etcd", "etcd-2=https://10.0.0.32",
		"etcd-2=https://10.0.0.12"), "static pod etcd: --initial-cluster: " +
		"etcd-2=https://10.0.0.12:2380: no machine has a certificate of etcd's"},
}

// endpointRefusals has the rows for what leads to the API servers: kube-vip and the balancer.
var endpointRefusals = []refusal{
	{"vip of another cluster", "vip/cp-1", pod("kube-vip", "value: 10.0.0.10", "value: 10.0.0.9"),
		`static pod kube-vip: carries "10.0.0.9", want 10.0.0.10`},
	{"vip without a name in the certificate", "vip/cp-1",
		reissue("apiserver", func(s *pki.Spec) { s.Names.IPs = s.Names.IPs[1:] }),
		"controlPlane.vip: https://10.0.0.10:6443: the API server on cp-1 has no certificate"},
	{"kube-vip that asks through its own address", "vip/cp-1",
		pod("kube-vip", "https://10.0.0.11:6443", "https://10.0.0.10:6443"),
		`static pod kube-vip: kubernetes_addr is "https://10.0.0.10:6443", another machine's ` +
			`API server`},
	{"kube-vip that asks the wrong port", "vip/cp-1",
		pod("kube-vip", "https://10.0.0.11:6443", "https://10.0.0.11:6444"),
		"static pod kube-vip: kubernetes_addr: asks https://10.0.0.11:6444"},
	{"kube-vip with the install credential", "vip/cp-1",
		pod("kube-vip", "path: /etc/kubernetes/kube-vip.conf", "path: /etc/kubernetes/admin.conf"),
		"static pod kube-vip: --kubeconfig: /etc/kubernetes/pki/install.crt is in no volume " +
			"of the pod"},
	{"kube-vip as somebody else", "vip/cp-1", func(m *machine) {
		m.edit(plan.VIPConf, "kube-vip.crt", "scheduler.crt")
		m.edit(plan.VIPConf, "kube-vip.key", "scheduler.key")
	}, "static pod kube-vip: kubeconfig: /etc/kubernetes/pki/scheduler.crt is for " +
		"CN=system:kube-scheduler, want the name kube-vip"},
	{"kube-vip without a kubeconfig", "vip/cp-1",
		pod("kube-vip", "mountPath: /etc/kubernetes/admin.conf", "mountPath: /root/config"),
		"static pod kube-vip: /etc/kubernetes/admin.conf is no kubeconfig of this machine"},
	{"kube-vip without rights", "vip/cp-1", withoutObject("RoleBinding", "kube-vip"),
		"objects: no RoleBinding in kube-system gives User kube-vip the Role kube-vip"},
	{"no kube-vip", "vip/cp-1", remove(plan.ManifestsDir + "/kube-vip.yaml"),
		"static pod kube-vip: a control plane needs a container of this name"},
	{"kube-vip's probes", "vip/cp-1", pod("kube-vip", "containerPort: 2112", "containerPort: 2113"),
		`static pod kube-vip: says that it listens at 127.0.0.1:2113, and prometheus_server ` +
			`is "127.0.0.1:2112"`},
	{"no balancer", "balancer/worker-1", remove(plan.ManifestsDir + "/haproxy.yaml"),
		"static pod haproxy: a worker with a balancer needs a container of this name"},
	{"balancer without a configuration", "balancer/worker-1", remove(plan.BalancerConf),
		"static pod haproxy: -f names no configuration of this machine"},
	{"balancer with an old sum", "balancer/worker-1", edit(plan.BalancerConf, "nbthread 1",
		"nbthread 2"), "static pod haproxy: the annotation kiln.dev/config-sha256 is not " +
		"the sum of /etc/kubernetes/haproxy.cfg"},
	{"balancer to another machine", "balancer/worker-1",
		edit(plan.BalancerConf, "10.0.0.13", "10.0.0.99"), `"cp-3=10.0.0.99:6443"]`},
	{"balancer that cannot read", "balancer/worker-1",
		func(m *machine) { m.file(plan.BalancerConf).Mode = 0o600 },
		"static pod haproxy: --f: the pod's user 99 cannot read /etc/kubernetes/haproxy.cfg"},
	{"balancer without the CA", "balancer/worker-1",
		pod("haproxy", "mountPath: /etc/kubernetes/pki/ca.crt", "mountPath: /ca.crt"),
		"static pod haproxy: --f: /etc/kubernetes/pki/ca.crt is in no volume of the pod"},
	{"balancer on another port", "balancer/worker-1", pod("haproxy", "containerPort: 6443",
		"containerPort: 7443"), "static pod haproxy: says that it listens at 127.0.0.1:7443"},
	{"kubelet beside the balancer", "balancer/worker-1",
		edit(plan.KubeletConf, "127.0.0.1:6443", "127.0.0.1:7443"),
		"file /etc/kubernetes/kubelet.conf: server: asks https://127.0.0.1:7443"},
	{"hook beside the balancer", "balancer/worker-1", edit(hookMachine, "127.0.0.1:6443",
		"127.0.0.1:7443"), "file /etc/kiln/machine: api: asks https://127.0.0.1:7443"},
	{"kube-proxy's port on a worker", "balancer/worker-1", pod("haproxy", "containerPort: 6444",
		"containerPort: 10256"), "port 10256 is already taken"},
}
