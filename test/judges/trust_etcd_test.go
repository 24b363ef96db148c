package judges

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEtcdMachinesAreSeen checks that trustJudge finds faults of machines that carry only a member
// of etcd, and of machines that use such members.
func TestEtcdMachinesAreSeen(t *testing.T) {
	t.Parallel()
	once(t)
	const own = "/etc/etcd/pki/"
	for name, tt := range map[string]struct {
		change change
		want   string
	}{
		"cluster's CA key on it": {
			put("etcd-1", own+"ca.key", "cp-1", pki+"ca.key"),
			"ca.key: nothing on this machine uses the private key",
		},
		"cluster's CA on it": {
			put("etcd-1", pki+"ca.crt", "cp-1", pki+"ca.crt"),
			"etcd-1: /etc/kubernetes/pki/ca.crt: it is for machines that are Nodes",
		},
		"API server's key on it": {
			put("etcd-1", own+"client.key", "cp-1", pki+"apiserver-etcd-client.key"),
			"client.key: nothing on this machine uses the private key",
		},
		"kubelet's key on it": {
			put("etcd-1", "/var/lib/kubelet/pki/kubelet.key",
				"worker-1", "/var/lib/kubelet/pki/kubelet.key"),
			"kubelet.key: nothing on this machine uses the private key",
		},
		"another member's key": {
			all(
				put("etcd-1", own+"server.crt", "etcd-2", own+"server.crt"),
				put("etcd-1", own+"server.key", "etcd-2", own+"server.key"),
			),
			"server.crt: x509: certificate is valid for",
		},
		"no key": {
			remove("etcd-1", own+"peer.key"),
			"etcd as a peer's server",
		},
		"another CA": {
			put("etcd-1", own+"ca.crt", "cp-1", pki+"ca.crt"),
			"ca.crt: it is not the one of the API servers",
		},
		"member's key on a control plane": {
			put("cp-1", own+"server.key", "etcd-1", own+"server.key"),
			"server.key: nothing on this machine uses the private key",
		},
		"member's key on a worker": {
			put("worker-1", own+"peer.key", "etcd-1", own+"peer.key"),
			"peer.key: nothing on this machine uses the private key",
		},
		"kubelet that serves": {
			edit("etcd-1", kubeletConfig, "enableServer: false", "enableServer: true"),
			"enableServer is \"true\", want false",
		},
		"kubelet that reads aloud": {
			edit("etcd-1", kubeletConfig, "readOnlyPort: 0", "readOnlyPort: 10255"),
			"readOnlyPort is \"10255\", want 0",
		},
		"kubelet that joins": {
			edit("etcd-1", kubeletDropIn,
				"--node-ip", "--kubeconfig=/etc/kubernetes/kubelet.conf \\\n  --node-ip"),
			"but the machine is no Node",
		},
		"kubeconfig on it": {
			put("etcd-1", "/etc/kubernetes/proxy.conf", "cp-1", "/etc/kubernetes/proxy.conf"),
			"proxy.conf: it is for machines that are Nodes",
		},
		"another pod on it": {
			put("etcd-1", "/etc/kubernetes/manifests/kube-scheduler.yaml",
				"cp-1", "/etc/kubernetes/manifests/kube-scheduler.yaml"),
			"it is not etcd",
		},
		"API server with one short": {
			edit("cp-1", apiPod, ",https://10.0.0.33:2379", ""),
			"--etcd-servers is",
		},
		"API server that believes another": {
			put("cp-*", pki+"etcd/ca.crt", "cp-1", pki+"front-proxy-ca.crt"),
			"server.crt: x509: certificate signed by unknown authority",
		},
		"hook that asks one peer of two": {
			edit("etcd-1", "/etc/kiln/machine",
				" etcd-3=https://10.0.0.33:2380,https://10.0.0.33:2378", ""),
			"etcd_peers is",
		},
		"hook that looks for a cluster": {
			edit("etcd-1", "/etc/kiln/machine", "api=''", "api='https://10.0.0.11:6443'"),
			"api is",
		},
		"one short": {
			edit("etcd-*", staticPod("etcd"), ",etcd-3=https://10.0.0.33:2380", ""),
			"want 3 members",
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, "etcd-machines", "ignition")
			require.Empty(t, trustJudge(machines))
			tt.change(t, machines)
			assert.Contains(t, strings.Join(trustJudge(machines), "\n"), tt.want)
		})
	}
}
