package judges

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEndpointIsSeen: what goes wrong with kube-vip or a balancer, trustJudge sees, or accessJudge.
func TestEndpointIsSeen(t *testing.T) {
	t.Parallel()
	once(t)
	const (
		vip      = "manifests/kube-vip.yaml"
		haproxy  = "/etc/kubernetes/haproxy.cfg"
		kubelet  = "/etc/kubernetes/kubelet.conf"
		proxy    = "-configmap-kube-proxy.yaml"
		role     = "-role-kube-vip.yaml"
		manifest = "manifests/haproxy.yaml"
	)
	for name, tt := range map[string]struct {
		in, machine, file string
		old, new          string // without old the file is removed
		want              string
	}{
		"address without a certificate": {"vip", "cp-1", vip,
			"value: 10.0.0.10", "value: 10.0.0.9",
			"the API server has no certificate for the address 10.0.0.9"},
		"address of a machine": {"vip", "cp-1", vip,
			"value: 10.0.0.10", "value: 10.0.0.12", "10.0.0.12 is the address of cp-2"},
		"API server behind the address": {"vip", "cp-1", vip,
			"https://10.0.0.11:6443", "https://10.0.0.10:6443",
			"kubernetes_addr is https://10.0.0.10:6443, want https://10.0.0.11:6443"},
		"no election": {"vip", "cp-1", vip,
			"name: vip_leaderelection\n      value: \"true\"",
			"name: vip_leaderelection\n      value: \"false\"",
			"carries this one without an election"},
		"addresses of Services": {"vip", "cp-1", vip,
			"name: svc_enable\n      value: \"false\"", "name: svc_enable\n      value: \"true\"",
			"it carries other addresses too"},
		"another Lease": {"vip", "cp-1", role,
			"plndr-cp-lock", "plndr-svcs-lock",
			"kube-vip may not get coordination.k8s.io/leases kube-system/plndr-cp-lock"},
		"every Lease": {"vip", "cp-1", role,
			"  resourceNames:\n  - plndr-cp-lock\n", "",
			"may update coordination.k8s.io/leases kube-system/kube-controller-manager"},
		"certificate of another": {"vip", "cp-1", "/kube-vip.conf",
			"/pki/kube-vip.", "/pki/scheduler.", "kube-vip"},
		"balancer without configuration": {"balancer", "worker-1", haproxy,
			"", "", "are not both there"},
		"balancer on one worker": {"balancer", "worker-1", manifest,
			"", "", "there is a balancer on some workers, and none on"},
		"balancer for all the world": {"balancer", "worker-1", haproxy,
			"bind 127.0.0.1:6444", "bind 10.0.0.21:6444", "it listens on 10.0.0.21:6444"},
		"balancer to a worker": {"balancer", "worker-1", haproxy,
			"10.0.0.13", "10.0.0.22", "it passes on to"},
		"balancer that believes": {"balancer", "worker-1", haproxy,
			"verify required ca-file /etc/kubernetes/pki/ca.crt", "verify none",
			"it believes whoever answers"},
		"kubelet beside the balancer": {"balancer", "worker-1", kubelet,
			"127.0.0.1:6443", "127.0.0.1:7443",
			"the server is https://127.0.0.1:7443, but the balancer on worker-1"},
		"kube-proxy beside the API": {"balancer", "cp-1", proxy,
			"127.0.0.1:6443", "127.0.0.1:7443", "but the API server on cp-1 listens on port 6443"},
		"loopback without a balancer": {"vip", "cp-1", proxy,
			"10.0.0.10:6443", "127.0.0.1:6443", "but the balancer on worker-1 listens on []"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, tt.in, "ignition")
			m := machines[slices.IndexFunc(machines,
				func(m *Machine) bool { return m.Name == tt.machine })]
			i := slices.IndexFunc(m.Files,
				func(f File) bool { return strings.HasSuffix(f.Path, tt.file) })
			require.GreaterOrEqual(t, i, 0, tt.file)
			if tt.old == "" {
				m.Files = slices.Delete(m.Files, i, i+1)
			} else {
				text := readable(&m.Files[i])
				require.Contains(t, text, tt.old)
				m.Files[i].Content = []byte(strings.ReplaceAll(text, tt.old, tt.new))
			}
			findings := append(trustJudge(machines), accessJudge(machines)...)
			assert.Contains(t, strings.Join(findings, "\n"), tt.want)
		})
	}
}
