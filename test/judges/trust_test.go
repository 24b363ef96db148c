package judges

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTrustIsSeen: trustJudge or accessJudge finds faults of machines that are not in the case of
// TestMutations: those that carry only a member of etcd, or use such members, those with kube-vip
// or a balancer, and those whose pods are kept from the metadata service.
func TestTrustIsSeen(t *testing.T) {
	t.Parallel()
	once(t)
	const (
		own     = "/etc/etcd/pki/"
		haproxy = "/etc/kubernetes/haproxy.cfg"
		wall    = units + "kiln-wall.service"
		drop    = units + "kubelet.service.d/20-kiln-wall.conf"
	)
	proxy := object("configmap-kube-proxy")
	masked := onMachine("worker-1", func(m *Machine) {
		m.Units[slices.IndexFunc(m.Units, isUnit("kiln-wall.service"))].Masked = true
	})
	for _, row := range []struct {
		in, name string
		change   change
		want     string
	}{
		{"etcd-machines", "cluster's CA key on it",
			put("etcd-1", own+"ca.key", "cp-1", pki+"ca.key"),
			"ca.key: nothing on this machine uses the private key"},
		{"etcd-machines", "cluster's CA on it", put("etcd-1", pki+"ca.crt", "cp-1", pki+"ca.crt"),
			"etcd-1: /etc/kubernetes/pki/ca.crt: it is for machines that are Nodes"},
		{"etcd-machines", "API server's key on it",
			put("etcd-1", own+"client.key", "cp-1", pki+"apiserver-etcd-client.key"),
			"client.key: nothing on this machine uses the private key"},
		{"etcd-machines", "kubelet's key on it", put("etcd-1", "/var/lib/kubelet/pki/kubelet.key",
			"worker-1", "/var/lib/kubelet/pki/kubelet.key"),
			"kubelet.key: nothing on this machine uses the private key"},
		{"etcd-machines", "another member's key", all(
			put("etcd-1", own+"server.crt", "etcd-2", own+"server.crt"),
			put("etcd-1", own+"server.key", "etcd-2", own+"server.key")),
			"server.crt: x509: certificate is valid for"},
		{"etcd-machines", "no key", remove("etcd-1", own+"peer.key"), "etcd as a peer's server"},
		{"etcd-machines", "another CA", put("etcd-1", own+"ca.crt", "cp-1", pki+"ca.crt"),
			"ca.crt: it is not the one of the API servers"},
		{"etcd-machines", "member's key on a control plane",
			put("cp-1", own+"server.key", "etcd-1", own+"server.key"),
			"server.key: nothing on this machine uses the private key"},
		{"etcd-machines", "member's key on a worker",
			put("worker-1", own+"peer.key", "etcd-1", own+"peer.key"),
			"peer.key: nothing on this machine uses the private key"},
		{"etcd-machines", "kubelet that serves",
			edit("etcd-1", kubeletConfig, "enableServer: false", "enableServer: true"),
			"enableServer is \"true\", want false"},
		{"etcd-machines", "kubelet that reads aloud",
			edit("etcd-1", kubeletConfig, "readOnlyPort: 0", "readOnlyPort: 10255"),
			"readOnlyPort is \"10255\", want 0"},
		{"etcd-machines", "kubelet that joins", edit("etcd-1", kubeletDropIn, "--node-ip",
			"--kubeconfig=/etc/kubernetes/kubelet.conf \\\n  --node-ip"),
			"but the machine is no Node"},
		{"etcd-machines", "kubeconfig on it",
			put("etcd-1", "/etc/kubernetes/proxy.conf", "cp-1", "/etc/kubernetes/proxy.conf"),
			"proxy.conf: it is for machines that are Nodes"},
		{"etcd-machines", "another pod on it", put("etcd-1",
			"/etc/kubernetes/manifests/kube-scheduler.yaml", "cp-1",
			"/etc/kubernetes/manifests/kube-scheduler.yaml"), "it is not etcd"},
		{"etcd-machines", "API server with one short",
			edit("cp-1", apiPod, ",https://10.0.0.33:2379", ""), "--etcd-servers is"},
		{"etcd-machines", "API server that believes another",
			put("cp-*", pki+"etcd/ca.crt", "cp-1", pki+"front-proxy-ca.crt"),
			"server.crt: x509: certificate signed by unknown authority"},
		{"etcd-machines", "hook that asks one peer of two", edit("etcd-1", "/etc/kiln/machine",
			" etcd-3=https://10.0.0.33:2380,https://10.0.0.33:2378", ""), "etcd_peers is"},
		{"etcd-machines", "hook that looks for a cluster",
			edit("etcd-1", "/etc/kiln/machine", "api=''", "api='https://10.0.0.11:6443'"),
			"api is"},
		{"etcd-machines", "one short",
			edit("etcd-*", staticPod("etcd"), ",etcd-3=https://10.0.0.33:2380", ""),
			"want 3 members"},
		{"balancer", "wall masked", masked, "kiln-wall.service: it is not enabled"},
		{"balancer", "wall gone", remove("worker-1", wall), wall + ": it is absent"},
		{"balancer", "drop-in gone", remove("worker-1", drop), drop + ": it is absent"},
		{"balancer", "wall and drop-in gone",
			all(remove("worker-1", wall), remove("worker-1", drop)), wall + ": it is absent"},
		{"balancer", "wall masked, drop-in gone", all(masked, remove("worker-1", drop)),
			"kiln-wall.service: it is not enabled"},
		{"vip", "address without a certificate",
			edit("cp-1", staticPod("kube-vip"), "value: 10.0.0.10", "value: 10.0.0.9"),
			"the API server has no certificate for the address 10.0.0.9"},
		{"vip", "address of a machine",
			edit("cp-1", staticPod("kube-vip"), "value: 10.0.0.10", "value: 10.0.0.12"),
			"10.0.0.12 is the address of cp-2"},
		{"vip", "API server behind the address",
			edit("cp-1", staticPod("kube-vip"), "https://10.0.0.11:6443", "https://10.0.0.10:6443"),
			"kubernetes_addr is https://10.0.0.10:6443, want https://10.0.0.11:6443"},
		{"vip", "no election", edit("cp-1", staticPod("kube-vip"),
			"name: vip_leaderelection\n      value: \"true\"",
			"name: vip_leaderelection\n      value: \"false\""),
			"carries this one without an election"},
		{"vip", "addresses of Services", edit("cp-1", staticPod("kube-vip"),
			"name: svc_enable\n      value: \"false\"",
			"name: svc_enable\n      value: \"true\""), "it carries other addresses too"},
		{"vip", "another Lease",
			edit("cp-1", object("role-kube-vip"), "plndr-cp-lock", "plndr-svcs-lock"),
			"kube-vip may not get coordination.k8s.io/leases kube-system/plndr-cp-lock"},
		{"vip", "every Lease",
			edit("cp-1", object("role-kube-vip"), "  resourceNames:\n  - plndr-cp-lock\n", ""),
			"may update coordination.k8s.io/leases kube-system/kube-controller-manager"},
		{"vip", "certificate of another",
			edit("cp-1", "/etc/kubernetes/kube-vip.conf", "/pki/kube-vip.", "/pki/scheduler."),
			"kube-vip"},
		{"balancer", "balancer without configuration", remove("worker-1", haproxy),
			"are not both there"},
		{"balancer", "balancer on one worker", remove("worker-1", staticPod("haproxy")),
			"there is a balancer on some workers, and none on"},
		{"balancer", "balancer for all the world",
			edit("worker-1", haproxy, "bind 127.0.0.1:6444", "bind 10.0.0.21:6444"),
			"it listens on 10.0.0.21:6444"},
		{"balancer", "balancer to a worker", edit("worker-1", haproxy, "10.0.0.13", "10.0.0.22"),
			"it passes on to"},
		{"balancer", "balancer that believes", edit("worker-1", haproxy,
			"verify required ca-file /etc/kubernetes/pki/ca.crt", "verify none"),
			"it believes whoever answers"},
		{"balancer", "kubelet beside the balancer",
			edit("worker-1", "/etc/kubernetes/kubelet.conf", "127.0.0.1:6443", "127.0.0.1:7443"),
			"the server is https://127.0.0.1:7443, but the balancer on worker-1"},
		{"balancer", "kube-proxy beside the API",
			edit("cp-1", proxy, "127.0.0.1:6443", "127.0.0.1:7443"),
			"but the API server on cp-1 listens on port 6443"},
		{"vip", "loopback without a balancer",
			edit("cp-1", proxy, "10.0.0.10:6443", "127.0.0.1:6443"),
			"but the balancer on worker-1 listens on []"},
	} {
		t.Run(strings.ReplaceAll(row.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, row.in, "ignition")
			row.change(t, machines)
			findings := append(trustJudge(machines), accessJudge(machines)...)
			assert.Contains(t, strings.Join(findings, "\n"), row.want)
		})
	}
}
