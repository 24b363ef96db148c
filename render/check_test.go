package render_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render"
	"kiln/render/node"
	"kiln/render/plan"
)

// machine is a rendered machine of a golden case, to be broken.
type machine struct {
	t *testing.T
	r *render.Cluster
	m *plan.Machine
	n *node.Node
}

// rendered returns a machine of a cluster.
func rendered(t *testing.T, r *render.Cluster, name string) *machine {
	t.Helper()
	i := machineNamed(t, r, name)
	n, err := r.Node(i)
	require.NoError(t, err)
	return &machine{t, r, &r.Plan.Machines[i], n}
}

// golden returns a machine of a golden case, whose cluster is shared and must not be changed.
func golden(t *testing.T, cluster, name string) *machine {
	t.Helper()
	r := load(t, cluster)
	i := machineNamed(t, r, name)
	return &machine{t, r, &r.Plan.Machines[i], clone(nodes(t, cluster)[i])}
}

func machineNamed(t *testing.T, r *render.Cluster, name string) int {
	t.Helper()
	i := slices.IndexFunc(r.Plan.Machines, func(m plan.Machine) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, "no machine %s", name)
	return i
}

func (m *machine) check() error { return m.r.Check(m.m, m.n) }

// file returns one of the machine's files.
func (m *machine) file(path string) *node.File {
	m.t.Helper()
	f := m.n.File(path)
	require.NotNil(m.t, f, path)
	return f
}

// edit replaces text in a file, everywhere.
func (m *machine) edit(path, from, to string) {
	m.t.Helper()
	f := m.file(path)
	require.Contains(m.t, string(f.Content), from)
	f.Content = bytes.ReplaceAll(f.Content, []byte(from), []byte(to))
}

// pod replaces text in a static pod.
func (m *machine) pod(name, from, to string) {
	m.t.Helper()
	m.edit(plan.ManifestsDir+"/"+name+".yaml", from, to)
}

func (m *machine) remove(path string) {
	m.t.Helper()
	f := m.file(path)
	f.Path = m.n.Files[len(m.n.Files)-1].Path
	*f = m.n.Files[len(m.n.Files)-1]
	m.n.Files = m.n.Files[:len(m.n.Files)-1]
}

// swap exchanges the contents of two files.
func (m *machine) swap(a, b string) {
	m.t.Helper()
	x, y := m.file(a), m.file(b)
	x.Content, y.Content = y.Content, x.Content
}

// give gives a directory to a user.
func (m *machine) give(dir, user string) {
	m.t.Helper()
	for i := range m.n.Dirs {
		if m.n.Dirs[i].Path == dir {
			m.n.Dirs[i].User, m.n.Dirs[i].Group = user, user
			return
		}
	}
	require.FailNow(m.t, "no directory "+dir)
}

// reissue signs one of the machine's certificates again, after a change.
func (m *machine) reissue(base string, change func(*pki.Spec)) {
	m.t.Helper()
	for _, spec := range m.r.Bundle.Specs(m.r.Plan, m.m) {
		if spec.Base == base {
			change(&spec)
			cert, err := m.r.Bundle.Issue(spec)
			require.NoError(m.t, err)
			m.file(spec.CertPath).Content = cert.CertPEM()
			return
		}
	}
	require.FailNow(m.t, "no certificate "+base)
}

// without returns a change of objects that drops one.
func without(kind, name string) func([]manifests.Object) []manifests.Object {
	return func(objects []manifests.Object) (out []manifests.Object) {
		for _, o := range objects {
			if o.Kind != kind || !strings.HasPrefix(o.Name, name) {
				out = append(out, o)
			}
		}
		return out
	}
}

// replaced returns a change of objects that replaces text in one.
func replaced(kind, name, from, to string) func([]manifests.Object) []manifests.Object {
	return func(objects []manifests.Object) []manifests.Object {
		for i, o := range objects {
			if o.Kind == kind && o.Name == name {
				objects[i].YAML = bytes.ReplaceAll(o.YAML, []byte(from), []byte(to))
			}
		}
		return objects
	}
}

const (
	etcdKey     = plan.EtcdPKIDir + "/server.key"
	dropIn      = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
	hookMachine = plan.KilnDir + "/machine"
)

// TestCheckRefuses has one row for everything that Check holds a machine to: what is broken on a machine of a golden
// case, cp-1 of the case ha unless the row says another, and what Check says.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		cluster string
		machine string
		fresh   bool // breaks changes the cluster too
		objects func([]manifests.Object) []manifests.Object
		breaks  func(m *machine)
		want    string
	}{
		// the tree, and who may read it
		{name: "path twice", breaks: func(m *machine) { m.n.Files = append(m.n.Files, *m.file(plan.CACert)) }, want: "file /etc/kubernetes/pki/ca.crt: the path is used twice"},
		{name: "relative path", breaks: func(m *machine) { m.n.Files = append(m.n.Files, node.File{Path: "etc/motd"}) }, want: `file "etc/motd": not an absolute, clean path`},
		{name: "below a file", breaks: func(m *machine) { m.n.Files = append(m.n.Files, node.File{Path: "/etc/hostname/x"}) }, want: "/etc/hostname/x: lies below /etc/hostname, which is a file"},
		{name: "mode", breaks: func(m *machine) { m.file("/etc/hostname").Mode = 0o4755 }, want: "file /etc/hostname: mode 4755 has more than permission bits"},
		{name: "open secret", breaks: func(m *machine) { m.file(plan.CAKey).Mode = 0o640 }, want: "file /etc/kubernetes/pki/ca.key: a secret that others may read (mode 0640)"},
		{name: "unmarked key", breaks: func(m *machine) { m.file(plan.CAKey).Secret = "" }, want: "file /etc/kubernetes/pki/ca.key: holds a private key and is not marked as a secret"},
		{name: "foreign secret on a worker", machine: "worker-1", breaks: func(m *machine) { m.file("/etc/hostname").Secret, m.file("/etc/hostname").Mode = "ca g1", 0o600 }, want: "file /etc/hostname: must not hold the secret ca g1: it is for control planes with certificates.signing: online in /etc/kubernetes/pki/ca.key; remove it"},

		{name: "secret in another place", breaks: func(m *machine) { m.file(plan.CAKey).Path = plan.PKIDir + "/root.key" }, want: "file /etc/kubernetes/pki/root.key: must not hold the secret ca g1"},
		{name: "secret that is not there", breaks: func(m *machine) { m.remove(plan.PKIDir + "/install.key") }, want: "secret install/cp-1 g1: missing from /etc/kubernetes/pki/install.key; it is there for the first boot"},
		{name: "secret of another generation", breaks: func(m *machine) { m.file(plan.ServiceKey).Secret = "service-account g2" }, want: "file /etc/kubernetes/pki/sa.key: must not hold the secret service-account g2"},
		{name: "secret that nobody knows", breaks: func(m *machine) { m.file("/etc/hostname").Secret, m.file("/etc/hostname").Mode = "root-ca g1", 0o600 }, want: "file /etc/hostname: must not hold the secret root-ca g1: the table of secrets does not have it"},
		{name: "CA key in a file of the user's", machine: "worker-1", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{Path: "/etc/agent/key", Mode: 0o600, Secret: "file /etc/agent/key", Content: m.r.Bundle.CAKey.PEM()})
		}, want: "file /etc/agent/key: holds the secret ca: it is for control planes"},
		{name: "encryption key that is not marked", machine: "worker-1", breaks: func(m *machine) {
			m.file("/etc/hostname").Content = []byte(base64.StdEncoding.EncodeToString(m.r.Bundle.EncryptionKey))
		}, want: "holds the secret encryption: it is for control planes in /etc/kubernetes/apiserver/encryption.yaml; remove it"},
		{name: "leaf seed", breaks: func(m *machine) {
			m.file("/etc/hostname").Content = []byte(base64.StdEncoding.EncodeToString(m.r.Bundle.LeafSeed))
		}, want: "holds the secret leaf-seed: it is for no machine; remove it"},
		{name: "token that is not marked", cluster: "pools", machine: "large", breaks: func(m *machine) {
			m.file(hookMachine).Content = append(m.file(hookMachine).Content, "join='"+m.r.Bundle.Token("small").Bearer()+"'\n"...)
		}, want: "file /etc/kiln/machine: holds the secret token/small: it is for workers with a pool's document in /etc/kubernetes/bootstrap-kubelet.conf"},
		{name: "token of another pool in its own place", cluster: "pools", machine: "large", breaks: func(m *machine) {
			m.edit(plan.BootstrapConf, m.r.Bundle.Token("large").Bearer(), m.r.Bundle.Token("small").Bearer())
		}, want: "file /etc/kubernetes/bootstrap-kubelet.conf: holds the secret token/small"},
		{name: "no token in its place", cluster: "pools", machine: "large", breaks: func(m *machine) {
			m.edit(plan.BootstrapConf, m.r.Bundle.Token("large").Bearer(), "abcdef.0123456789abcdef")
		}, want: "file /etc/kubernetes/bootstrap-kubelet.conf: does not hold the secret token/large g1, with which it is marked"},
		{name: "key and certificate of another control plane", breaks: func(m *machine) {
			other := golden(m.t, "ha", "cp-2")
			for _, path := range []string{plan.PKIDir + "/apiserver.crt", plan.PKIDir + "/apiserver.key"} {
				m.file(path).Content = other.file(path).Content
			}
		}, want: "file /etc/kubernetes/pki/apiserver.key: does not hold the key apiserver/cp-1 of this machine"},
		{name: "a second key", machine: "worker-1", breaks: func(m *machine) {
			f := m.file(plan.KubeletPKI + "/kubelet.key")
			f.Content = slices.Concat(f.Content, golden(m.t, "ha", "worker-2").file(f.Path).Content)
		}, want: "file /var/lib/kubelet/pki/kubelet.key: holds 2 private keys, want the one of kubelet-server/worker-1 g1"},
		{name: "another key of service accounts", breaks: func(m *machine) {
			m.file(plan.ServiceKey).Content = m.r.Bundle.FrontProxyCAKey.PEM()
			m.file(plan.ServicePub).Content = m.r.Bundle.FrontProxyCAKey.PublicPEM()
		}, want: "file /etc/kubernetes/pki/sa.key: does not hold the secret service-account g1, with which it is marked"},
		{name: "token of another pool", cluster: "pools", machine: "large", breaks: func(m *machine) { m.file(plan.BootstrapConf).Secret = "token/small g1" }, want: "file /etc/kubernetes/bootstrap-kubelet.conf: must not hold the secret token/small g1"},

		// etcd machines
		{name: "CA key on an etcd machine", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) { m.file("/etc/hostname").Secret, m.file("/etc/hostname").Mode = "ca g1", 0o600 }, want: "file /etc/hostname: must not hold the secret ca g1"},
		{name: "API server's key on an etcd machine", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) { m.file(etcdKey).Secret = "apiserver-etcd-client/cp-1 g1" }, want: "file /etc/etcd/pki/server.key: must not hold the secret apiserver-etcd-client/cp-1 g1: it is for control planes with an etcd of kiln's"},
		{name: "member's key on a control plane without one", cluster: "etcd-machines", breaks: func(m *machine) {
			m.file("/etc/hostname").Secret, m.file("/etc/hostname").Mode = "etcd-server/cp-1 g1", 0o600
		}, want: "file /etc/hostname: must not hold the secret etcd-server/cp-1 g1: it is for control planes, etcd machines with a member of etcd"},
		{name: "no key of its member", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) { m.remove(etcdKey) }, want: "static pod etcd: --key-file: names /etc/etcd/pki/server.key, which the machine does not have"},
		{name: "no member", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) { m.remove(plan.ManifestsDir + "/etcd.yaml") }, want: "static pod etcd: an etcd machine needs a container of this name"},
		{name: "kubelet that serves without an API server", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "enableServer: false", "enableServer: true") }, want: "file /var/lib/kubelet/config.yaml: want enableServer: false and readOnlyPort: 0"},
		{name: "kubelet that serves by a flag", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) {
			m.edit(dropIn, "--node-ip", "--enable-server=true \\\n  --node-ip")
		}, want: "kubelet.service: --enable-server is true"},
		{name: "kubelet that joins from an etcd machine", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) {
			m.edit(dropIn, "--node-ip", "--kubeconfig=/etc/kubernetes/kubelet.conf \\\n  --node-ip")
		}, want: "kubelet.service: --kubeconfig is /etc/kubernetes/kubelet.conf, and an etcd machine is no Node"},
		{name: "API server without a member", cluster: "etcd-machines", breaks: func(m *machine) { m.pod("kube-apiserver", ",https://10.0.0.33:2379", "") }, want: "static pod kube-apiserver: --etcd-servers is"},
		{name: "API server that trusts another etcd", cluster: "etcd-machines", breaks: func(m *machine) { m.pod("kube-apiserver", "--etcd-cafile="+plan.EtcdCA, "--etcd-cafile="+plan.CACert) }, want: "static pod kube-apiserver: --etcd-cafile: /etc/kubernetes/pki/ca.crt does not hold the CA"},
		{name: "API server whom members do not know", cluster: "etcd-machines", breaks: func(m *machine) {
			m.swap(plan.PKIDir+"/apiserver-etcd-client.crt", plan.PKIDir+"/scheduler.crt")
		}, want: "static pod kube-apiserver: --etcd-certfile: /etc/kubernetes/pki/apiserver-etcd-client.crt: the members of etcd do not accept it"},
		{name: "member of another machine", cluster: "etcd-machines", machine: "etcd-1", breaks: func(m *machine) { m.pod("etcd", "etcd-2=https://10.0.0.32", "etcd-2=https://10.0.0.12") }, want: "static pod etcd: --initial-cluster: etcd-2=https://10.0.0.12:2380: no machine has a certificate of etcd's"},

		// what leads to the API servers
		{name: "vip of another cluster", cluster: "vip", breaks: func(m *machine) { m.pod("kube-vip", "value: 10.0.0.10", "value: 10.0.0.9") }, want: `static pod kube-vip: carries "10.0.0.9", want 10.0.0.10`},
		{name: "vip without a name in the certificate", cluster: "vip", breaks: func(m *machine) {
			m.reissue("apiserver", func(s *pki.Spec) { s.Names.IPs = s.Names.IPs[1:] })
		}, want: "controlPlane.vip: https://10.0.0.10:6443: the API server on cp-1 has no certificate"},
		{name: "kube-vip that asks through its own address", cluster: "vip", breaks: func(m *machine) { m.pod("kube-vip", "https://10.0.0.11:6443", "https://10.0.0.10:6443") }, want: `static pod kube-vip: kubernetes_addr is "https://10.0.0.10:6443", another machine's API server`},
		{name: "kube-vip that asks the wrong port", cluster: "vip", breaks: func(m *machine) { m.pod("kube-vip", "https://10.0.0.11:6443", "https://10.0.0.11:6444") }, want: "static pod kube-vip: kubernetes_addr: asks https://10.0.0.11:6444"},
		{name: "kube-vip with the install credential", cluster: "vip", breaks: func(m *machine) {
			m.pod("kube-vip", "path: /etc/kubernetes/kube-vip.conf", "path: /etc/kubernetes/admin.conf")
		}, want: "static pod kube-vip: --kubeconfig: /etc/kubernetes/pki/install.crt is in no volume of the pod"},
		{name: "kube-vip as somebody else", cluster: "vip", breaks: func(m *machine) {
			m.edit(plan.VIPConf, "kube-vip.crt", "scheduler.crt")
			m.edit(plan.VIPConf, "kube-vip.key", "scheduler.key")
		}, want: "static pod kube-vip: kubeconfig: /etc/kubernetes/pki/scheduler.crt is for CN=system:kube-scheduler, want the name kube-vip"},
		{name: "kube-vip without a kubeconfig", cluster: "vip", breaks: func(m *machine) {
			m.pod("kube-vip", "mountPath: /etc/kubernetes/admin.conf", "mountPath: /root/config")
		}, want: "static pod kube-vip: /etc/kubernetes/admin.conf is no kubeconfig of this machine"},
		{name: "kube-vip without rights", cluster: "vip", objects: without("RoleBinding", "kube-vip"), want: "objects: no RoleBinding in kube-system gives User kube-vip the Role kube-vip"},
		{name: "no kube-vip", cluster: "vip", breaks: func(m *machine) { m.remove(plan.ManifestsDir + "/kube-vip.yaml") }, want: "static pod kube-vip: a control plane needs a container of this name"},
		{name: "kube-vip's probes", cluster: "vip", breaks: func(m *machine) { m.pod("kube-vip", "containerPort: 2112", "containerPort: 2113") }, want: `static pod kube-vip: says that it listens at 127.0.0.1:2113, and prometheus_server is "127.0.0.1:2112"`},
		{name: "no balancer", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.remove(plan.ManifestsDir + "/haproxy.yaml") }, want: "static pod haproxy: a worker with a balancer needs a container of this name"},
		{name: "balancer without a configuration", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.remove(plan.BalancerConf) }, want: "static pod haproxy: -f names no configuration of this machine"},
		{name: "balancer with an old sum", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.BalancerConf, "nbthread 1", "nbthread 2") }, want: "static pod haproxy: the annotation kiln.dev/config-sha256 is not the sum of /etc/kubernetes/haproxy.cfg"},
		{name: "balancer to another machine", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.BalancerConf, "10.0.0.13", "10.0.0.99") }, want: `"cp-3=10.0.0.99:6443"]`},
		{name: "balancer that cannot read", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.file(plan.BalancerConf).Mode = 0o600 }, want: "static pod haproxy: --f: the pod's user 99 cannot read /etc/kubernetes/haproxy.cfg"},
		{name: "balancer without the CA", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.pod("haproxy", "mountPath: /etc/kubernetes/pki/ca.crt", "mountPath: /ca.crt") }, want: "static pod haproxy: --f: /etc/kubernetes/pki/ca.crt is in no volume of the pod"},
		{name: "balancer on another port", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.pod("haproxy", "containerPort: 6443", "containerPort: 7443") }, want: "static pod haproxy: says that it listens at 127.0.0.1:7443"},
		{name: "kubelet beside the balancer", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConf, "127.0.0.1:6443", "127.0.0.1:7443") }, want: "file /etc/kubernetes/kubelet.conf: server: asks https://127.0.0.1:7443"},
		{name: "hook beside the balancer", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.edit(hookMachine, "127.0.0.1:6443", "127.0.0.1:7443") }, want: "file /etc/kiln/machine: api: asks https://127.0.0.1:7443"},
		{name: "kube-proxy's port on a worker", cluster: "balancer", machine: "worker-1", breaks: func(m *machine) { m.pod("haproxy", "containerPort: 6444", "containerPort: 10256") }, want: "port 10256 is already taken"},

		// servers and their names
		{name: "endpoint of a worker", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConf, "api.ha.example.com", "api.example.com") },
			want: "node worker-1: file /etc/kubernetes/kubelet.conf: server: https://api.example.com:6443: the API server on cp-1 has no certificate for api.example.com"},
		{name: "endpoint of the hook", machine: "worker-1", breaks: func(m *machine) { m.edit(hookMachine, "api.ha.example.com", "10.9.9.9") }, want: "file /etc/kiln/machine: api: https://10.9.9.9:6443: the API server on cp-1 has no certificate"},
		{name: "endpoint of the operator", fresh: true, breaks: func(m *machine) { m.r.Plan.EndpointHost = "api.example.com" }, want: "admin.conf: https://api.example.com:6443: the API server on cp-1 has no certificate"},
		{name: "endpoint of kube-proxy", objects: replaced("ConfigMap", "kube-proxy", "api.ha.example.com", "api.example.com"), want: "ConfigMap kube-proxy: server: https://api.example.com:6443: the API server on cp-1 has no certificate"},
		{name: "kubeconfig of another machine", breaks: func(m *machine) { m.edit(plan.SchedulerConf, "10.0.0.11", "10.0.0.99") }, want: "file /etc/kubernetes/scheduler.conf: server: https://10.0.0.99:6443"},
		{name: "no SAN for Services", breaks: func(m *machine) {
			m.reissue("apiserver", func(s *pki.Spec) { s.Names.IPs = s.Names.IPs[:1] })
		}, want: "pods: https://10.96.0.1:443: the API server on cp-1 has no certificate for 10.96.0.1"},
		{name: "no SAN for etcd's client", breaks: func(m *machine) {
			m.reissue("etcd-server", func(s *pki.Spec) { s.Names.IPs = []netip.Addr{netip.MustParseAddr("10.0.0.11")} })
		}, want: "static pod kube-apiserver: --etcd-servers: clients dial 127.0.0.1, and /etc/etcd/pki/server.crt is not for it"},
		{name: "etcd peer of another address", breaks: func(m *machine) { m.pod("etcd", "cp-2=https://10.0.0.12", "cp-2=https://10.0.0.22") }, want: "static pod etcd: --initial-cluster: cp-2=https://10.0.0.22:2380: no machine has a certificate of etcd's"},
		{name: "etcd peer of the hook", breaks: func(m *machine) { m.edit(hookMachine, "cp-3=", "cp-4=") }, want: "file /etc/kiln/machine: etcd_peers: cp-4=https://10.0.0.13:2380: no machine has a certificate of etcd's"},
		{name: "etcd URL of the hook", breaks: func(m *machine) {
			m.edit(hookMachine, "etcd_url='https://10.0.0.11:2380'", "etcd_url='https://10.0.0.9:2380'")
		}, want: "file /etc/kiln/machine: etcd_url is https://10.0.0.9:2380, but static pod etcd"},
		{name: "kubelet of another address", machine: "worker-1", breaks: func(m *machine) { m.edit(dropIn, "--node-ip=10.0.0.21", "--node-ip=10.0.0.99") }, want: "kubelet.service: --node-ip: clients dial 10.0.0.99, and /var/lib/kubelet/pki/kubelet.crt is not for it"},

		// who trusts whom
		{name: "swapped certificates", breaks: func(m *machine) { m.swap(plan.PKIDir+"/scheduler.crt", plan.PKIDir+"/controller-manager.crt") }, want: "/etc/kubernetes/pki/scheduler.key is not the key of /etc/kubernetes/pki/scheduler.crt"},
		{name: "key of another machine", machine: "worker-1", breaks: func(m *machine) {
			m.file(plan.KubeletPKI + "/kubelet.key").Content = m.r.Bundle.CAKey.PEM()
		}, want: "file /var/lib/kubelet/config.yaml: tlsPrivateKeyFile: /var/lib/kubelet/pki/kubelet.key is not the key of /var/lib/kubelet/pki/kubelet.crt"},
		{name: "expired", fresh: true, breaks: func(m *machine) { m.r.Bundle.Issued = m.r.Bundle.Issued.Add(20 * 365 * 24 * time.Hour) }, want: "certificate scheduler/cp-1: x509: certificate has expired"},
		{name: "no certificate", breaks: func(m *machine) { m.file(plan.PKIDir + "/apiserver.crt").Content = []byte("hello") }, want: "certificate apiserver/cp-1: /etc/kubernetes/pki/apiserver.crt is missing or holds none"},
		{name: "not for clients", breaks: func(m *machine) { m.reissue("scheduler", func(s *pki.Spec) { s.Usages = nil }) }, want: "file /etc/kubernetes/scheduler.conf: client-certificate: /etc/kubernetes/pki/scheduler.crt does not verify"},
		{name: "CA of clients", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--client-ca-file="+plan.CACert, "--client-ca-file="+plan.FrontProxyCA)
		}, want: `static pod kube-apiserver: --client-ca-file: /etc/kubernetes/pki/front-proxy-ca.crt does not hold the CA "kubernetes"`},
		{name: "CA of clients not set", breaks: func(m *machine) {
			m.pod("kube-apiserver", "    - --client-ca-file="+plan.CACert+"\n", "")
		}, want: "static pod kube-apiserver: --client-ca-file is not set"},
		{name: "CA of a kubeconfig", machine: "worker-1", breaks: func(m *machine) { m.file(plan.CACert).Content = m.r.Bundle.EtcdCA.PEM() }, want: `file /etc/kubernetes/kubelet.conf: certificate-authority: /etc/kubernetes/pki/ca.crt does not hold the CA "kubernetes"`},
		{name: "CA of kubelets", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--kubelet-certificate-authority="+plan.CACert, "--kubelet-certificate-authority="+plan.EtcdCA)
		}, want: "static pod kube-apiserver: --kubelet-certificate-authority: /etc/kubernetes/pki/etcd/ca.crt does not hold the CA"},
		{name: "CA of a kubelet's clients", machine: "worker-1", breaks: func(m *machine) {
			m.edit(plan.KubeletConfig, plan.CACert, plan.KubeletPKI+"/kubelet.crt")
		}, want: "file /var/lib/kubelet/config.yaml: authentication.x509.clientCAFile: /var/lib/kubelet/pki/kubelet.crt does not hold the CA"},
		{name: "CA of the front proxy", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--requestheader-client-ca-file="+plan.FrontProxyCA, "--requestheader-client-ca-file="+plan.CACert)
		}, want: "--proxy-client-cert-file: /etc/kubernetes/pki/front-proxy-client.crt does not verify with /etc/kubernetes/pki/ca.crt"},
		{name: "name of the front proxy", breaks: func(m *machine) {
			m.pod("kube-apiserver", "allowed-names=front-proxy-client", "allowed-names=aggregator")
		}, want: `static pod kube-apiserver: --requestheader-allowed-names: want "front-proxy-client"`},
		{name: "CA of etcd's server", breaks: func(m *machine) { m.pod("kube-apiserver", "--etcd-cafile="+plan.EtcdCA, "--etcd-cafile="+plan.CACert) }, want: "static pod etcd: --cert-file: /etc/etcd/pki/server.crt does not verify with /etc/kubernetes/pki/ca.crt"},
		{name: "CA of etcd's clients", breaks: func(m *machine) { m.file(plan.EtcdOwnCA).Content = m.r.Bundle.CA.PEM() }, want: "--etcd-certfile: /etc/kubernetes/pki/apiserver-etcd-client.crt does not verify with /etc/etcd/pki/ca.crt"},
		{name: "signer of another CA", breaks: func(m *machine) {
			m.pod("kube-controller-manager", "cluster-signing-cert-file="+plan.CACert, "cluster-signing-cert-file="+plan.FrontProxyCA)
		}, want: "static pod kube-controller-manager: --cluster-signing-cert-file: /etc/kubernetes/pki/front-proxy-ca.crt does not hold the CA"},
		{name: "service account key", breaks: func(m *machine) {
			m.pod("kube-controller-manager", "private-key-file="+plan.ServiceKey, "private-key-file="+plan.CAKey)
		}, want: "--service-account-private-key-file: kube-apiserver's --service-account-key-file does not hold the public key of /etc/kubernetes/pki/ca.key"},
		{name: "service account public key", breaks: func(m *machine) { m.file(plan.ServicePub).Content = m.r.Bundle.CAKey.PublicPEM() }, want: "--service-account-signing-key-file: kube-apiserver's --service-account-key-file does not hold the public key"},
		{name: "another client's kubeconfig", breaks: func(m *machine) { m.swap(plan.SchedulerConf, plan.ManagerConf) }, want: "static pod kube-scheduler: --kubeconfig: /etc/kubernetes/pki/controller-manager.crt is for CN=system:kube-controller-manager, want the name system:kube-scheduler"},
		{name: "another Node", machine: "worker-1", breaks: func(m *machine) { m.file("/etc/hostname").Content = []byte("worker-7\n") }, want: "want the name system:node:worker-7 in the group system:nodes"},
		{name: "another Node in the hook", machine: "worker-1", breaks: func(m *machine) { m.edit(hookMachine, "node='worker-1'", "node='worker-7'") }, want: "want the name system:node:worker-7 in the group system:nodes"},
		{name: "install credential without rights", breaks: func(m *machine) {
			m.reissue("install", func(s *pki.Spec) { s.Organizations = nil })
		}, want: "want the name kiln:install in the group system:masters"},
		{name: "kubeconfig without a credential", breaks: func(m *machine) { m.swap(plan.SchedulerConf, plan.ProxyConf) }, want: "static pod kube-scheduler: --kubeconfig: /etc/kubernetes/scheduler.conf has no client certificate"},
		{name: "kubelet without a CA", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "clientCAFile: ", "clientCA: ") }, want: "file /var/lib/kubelet/config.yaml: authentication.x509.clientCAFile is not set"},
		{name: "kubelet without a certificate", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "tlsCertFile: ", "tlsCert: ") }, want: "file /var/lib/kubelet/config.yaml: tlsCertFile is not set"},
		{name: "unknown token", cluster: "pools", machine: "large", objects: without("Secret", "bootstrap-token-"), want: "pool large: file /etc/kubernetes/bootstrap-kubelet.conf: the API server is not told of the token"},

		// rights
		{name: "operator's rights", objects: without("ClusterRoleBinding", "kubeadm:cluster-admins"), want: "objects: no ClusterRoleBinding gives Group kubeadm:cluster-admins the ClusterRole cluster-admin"},
		{name: "API server's rights", objects: without("ClusterRoleBinding", "kubeadm:apiserver-kubelet-client"), want: "gives kube-apiserver-kubelet-client the ClusterRole system:kubelet-api-admin"},
		{name: "kubelets' renewal", objects: without("ClusterRoleBinding", "kubeadm:node-autoapprove-certificate-rotation"), want: "gives Group system:nodes the ClusterRole system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"},
		{name: "kube-proxy's rights", objects: without("ClusterRoleBinding", "kubeadm:node-proxier"), want: "gives ServiceAccount kube-proxy the ClusterRole system:node-proxier"},
		{name: "joining", cluster: "pools", objects: without("ClusterRoleBinding", "kubeadm:kubelet-bootstrap"), want: "gives Group system:bootstrappers:kiln the ClusterRole system:node-bootstrapper"},
		{name: "joining machines' certificates", cluster: "pools", objects: without("ClusterRoleBinding", "kubeadm:node-autoapprove-bootstrap"), want: "gives Group system:bootstrappers:kiln the ClusterRole system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		{name: "object of another content", breaks: func(m *machine) {
			m.edit(plan.KilnDir+"/objects/000-clusterrolebinding-kubeadm-cluster-admins.yaml", "cluster-admin", "view")
		}, want: "file /etc/kiln/objects/index: line 1: the object of /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:cluster-admins is not what it should be"},

		{name: "missing object", breaks: func(m *machine) { m.file(plan.KilnDir + "/objects/index").Content = []byte("/api\tapi.yaml\n") }, want: "file /etc/kiln/objects/index: lists"},
		{name: "missing objects", breaks: func(m *machine) { m.remove(plan.KilnDir + "/objects/index") }, want: "file /etc/kiln/objects/index: missing"},

		// files
		{name: "missing file of a flag", breaks: func(m *machine) { m.remove(plan.ServicePub) }, want: "static pod kube-apiserver: --service-account-key-file: names /etc/kubernetes/pki/sa.pub, which the machine does not have"},
		{name: "missing file of a kubeconfig", breaks: func(m *machine) { m.edit(plan.SchedulerConf, "scheduler.crt", "client.crt") }, want: "file /etc/kubernetes/scheduler.conf: names /etc/kubernetes/pki/client.crt, which the machine does not have"},
		{name: "missing file of the kubelet", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, plan.CACert, plan.PKIDir+"/x.crt") }, want: "file /var/lib/kubelet/config.yaml: names /etc/kubernetes/pki/x.crt"},
		{name: "missing file of a unit", machine: "worker-1", breaks: func(m *machine) { m.edit(dropIn, plan.KubeletConf, plan.KubernetesDir+"/node.conf") }, want: "file " + dropIn + ": names /etc/kubernetes/node.conf"},
		{name: "missing program of a unit", machine: "worker-1", breaks: func(m *machine) { m.remove(plan.KilnDir + "/boot") }, want: "file /etc/systemd/system/kiln.service: names /etc/kiln/boot"},
		{name: "missing file that retires", breaks: func(m *machine) { m.edit(hookMachine, "install.key", "installer.key") }, want: "file /etc/kiln/machine: retire: names /etc/kubernetes/pki/installer.key"},
		{name: "missing kubelet configuration", machine: "worker-1", breaks: func(m *machine) { m.remove(plan.KubeletConfig) }, want: "file /var/lib/kubelet/config.yaml: missing"},
		{name: "missing static pod", breaks: func(m *machine) { m.remove(plan.ManifestsDir + "/etcd.yaml") }, want: "static pod etcd: a control plane needs a container of this name"},
		{name: "no pod", breaks: func(m *machine) { m.file(plan.ManifestsDir + "/etcd.yaml").Content = []byte("[") }, want: "file /etc/kubernetes/manifests/etcd.yaml: "},
		{name: "no kubeconfig", breaks: func(m *machine) { m.file(plan.SchedulerConf).Content = []byte("[") }, want: "file /etc/kubernetes/scheduler.conf: not a kubeconfig with one cluster and one user"},
		{name: "no kubelet configuration", machine: "worker-1", breaks: func(m *machine) { m.file(plan.KubeletConfig).Content = []byte("[") }, want: "file /var/lib/kubelet/config.yaml: "},
		{name: "missing command line of the kubelet", machine: "worker-1", breaks: func(m *machine) { m.remove(dropIn) }, want: "file " + dropIn + ": missing"},
		{name: "etcd's key is root's", breaks: func(m *machine) { m.file(etcdKey).User, m.file(etcdKey).Group = "", "" }, want: "static pod etcd: --key-file: the pod's user 232 cannot read /etc/etcd/pki/server.key (mode 0600, owner root)"},
		{name: "etcd's folder is root's", breaks: func(m *machine) { m.give(plan.EtcdPKIDir, "root") }, want: "the pod's user 232 cannot enter /etc/etcd/pki (mode 0700, owner root)"},
		{name: "etcd's data is root's", breaks: func(m *machine) { m.give(plan.EtcdData, "root") }, want: "static pod etcd: --data-dir: the pod's user 232 cannot write /var/lib/etcd"},
		{name: "user of a patch", breaks: func(m *machine) {
			m.pod("kube-scheduler", "  securityContext:\n    seccompProfile", "  securityContext:\n    runAsUser: 65534\n    seccompProfile")
		}, want: "static pod kube-scheduler: --kubeconfig: the pod's user 65534 cannot read /etc/kubernetes/scheduler.conf"},
		{name: "root without capabilities", breaks: func(m *machine) { m.file(plan.Encryption).User = "232" }, want: "static pod kube-apiserver: --encryption-provider-config: the pod's user 0 cannot read /etc/kubernetes/apiserver/encryption.yaml (mode 0600, owner 232)"},
		{name: "no mount", breaks: func(m *machine) {
			m.pod("kube-apiserver", "    - mountPath: /etc/kubernetes/apiserver\n      name: settings\n      readOnly: true\n", "")
		}, want: "static pod kube-apiserver: --audit-policy-file: /etc/kubernetes/apiserver/audit.yaml is in no volume of the pod"},
		{name: "no mount for a kubeconfig's files", breaks: func(m *machine) {
			m.pod("kube-scheduler", "    - mountPath: /etc/kubernetes/pki/scheduler.crt\n      name: certificate\n      readOnly: true\n", "")
		}, want: "static pod kube-scheduler: --kubeconfig: /etc/kubernetes/pki/scheduler.crt is in no volume of the pod"},
		{name: "no volume", breaks: func(m *machine) {
			m.pod("kube-scheduler", "type: File\n    name: ca\n", "type: File\n    name: authority\n")
		}, want: `static pod kube-scheduler: mounts the volume "ca", which the pod does not have`},
		{name: "volume of another folder", breaks: func(m *machine) {
			m.pod("kube-apiserver", "      path: /etc/kubernetes/apiserver\n", "      path: /etc/kubernetes/settings\n")
		}, want: "static pod kube-apiserver: volume settings: names /etc/kubernetes/settings"},
		{name: "volume of another type", breaks: func(m *machine) { m.pod("kube-scheduler", "type: File", "type: Directory") }, want: "static pod kube-scheduler: volume kubeconfig: /etc/kubernetes/scheduler.conf is not of the type Directory"},
		{name: "audit log in no volume", breaks: func(m *machine) {
			m.pod("kube-apiserver", "audit-log-path=/var/log/kubernetes/", "audit-log-path=/var/log/")
		}, want: "static pod kube-apiserver: --audit-log-path: /var/log/audit.log is in no volume of the pod"},
		{name: "data in a read-only volume", breaks: func(m *machine) {
			m.pod("etcd", "      name: etcd-data\n", "      name: etcd-data\n      readOnly: true\n")
		}, want: "static pod etcd: --data-dir: /var/lib/etcd is written, and its volume etcd-data is read-only"},

		// ports
		{name: "port twice", breaks: func(m *machine) { m.pod("kube-scheduler", "--leader-elect=true", "--secure-port=10257") }, want: "static pod kube-scheduler: --secure-port: port 10257 is already taken by static pod kube-controller-manager"},
		{name: "port of kube-proxy", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "10248", "10249") }, want: "ConfigMap kube-proxy: metricsBindAddress: port 10249 is already taken by file /var/lib/kubelet/config.yaml: healthzPort"},
		{name: "port of a sidecar", breaks: func(m *machine) {
			m.pod("kube-scheduler", "  containers:\n", "  containers:\n  - {name: agent, image: agent, ports: [{containerPort: 10250}]}\n")
		}, want: "static pod kube-scheduler: container agent: containerPort: port 10250 is already taken by file /var/lib/kubelet/config.yaml: port"},
		{name: "port of a name", breaks: func(m *machine) { m.pod("etcd", "http://127.0.0.1:2381", "http://metrics:2381") }, want: `static pod etcd: --listen-metrics-urls: "metrics:2381" is not an address and port`},
		{name: "probe of another port", breaks: func(m *machine) { m.pod("kube-scheduler", "containerPort: 10259", "containerPort: 10251") }, want: "static pod kube-scheduler: livenessProbe: asks https://127.0.0.1:10251, where the program does not listen"},
		{name: "probe of another address", breaks: func(m *machine) {
			m.pod("kube-controller-manager", "--bind-address=127.0.0.1", "--bind-address=10.0.0.11")
		}, want: "static pod kube-controller-manager: startupProbe: asks https://127.0.0.1:10257"},
		{name: "probe of another scheme", breaks: func(m *machine) { m.pod("etcd", "scheme: HTTP", "scheme: HTTPS") }, want: "static pod etcd: readinessProbe: asks https://127.0.0.1:2381"},
		{name: "clients of another port", breaks: func(m *machine) { m.pod("kube-apiserver", "6443", "8443") }, want: "file /etc/kubernetes/controller-manager.conf: server: asks https://10.0.0.11:6443"},
		{name: "etcd's clients of another port", breaks: func(m *machine) { m.pod("kube-apiserver", "127.0.0.1:2379", "127.0.0.1:4001") }, want: "static pod kube-apiserver: --etcd-servers: asks https://127.0.0.1:4001"},
		{name: "the hook's port", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "10248", "10247") }, want: "file /etc/kiln/boot: asks http://127.0.0.1:10248"},

		// images
		{name: "image of a static pod", breaks: func(m *machine) { m.pod("etcd", "registry.k8s.io/etcd:", "registry.example.com/etcd:") }, want: `static pod etcd: has the image "registry.example.com/etcd:3.6.8-0", kiln images lists "registry.k8s.io/etcd:3.6.8-0"; set spec.images.etcd`},
		{name: "image of an object", objects: replaced("Deployment", "coredns", "registry.k8s.io", "registry.example.com"), want: `Deployment coredns: has the image "registry.example.com/coredns/coredns:`},
		{name: "image of the sandbox", machine: "worker-1", breaks: func(m *machine) { m.edit("/etc/containerd/config.toml", "/pause:", "/sandbox:") }, want: `file /etc/containerd/config.toml: want the sandbox image "registry.k8s.io/pause:`},

		// networks
		{name: "Services of the API server", breaks: func(m *machine) { m.pod("kube-apiserver", "10.96.0.0/12", "10.112.0.0/12") }, want: `static pod kube-apiserver: --service-cluster-ip-range is "10.112.0.0/12", the cluster's networks are "10.96.0.0/12"`},
		{name: "Services of the controller-manager", breaks: func(m *machine) { m.pod("kube-controller-manager", "10.96.0.0/12", "10.112.0.0/12") }, want: "static pod kube-controller-manager: --service-cluster-ip-range is"},
		{name: "pods of the controller-manager", breaks: func(m *machine) { m.pod("kube-controller-manager", "10.244.0.0/16", "10.245.0.0/16") }, want: "static pod kube-controller-manager: --cluster-cidr is"},
		{name: "pods of kube-proxy", objects: replaced("ConfigMap", "kube-proxy", "10.244.0.0/16", "10.245.0.0/16"), want: `ConfigMap kube-proxy: clusterCIDR is "10.245.0.0/16"`},
		{name: "pods of a machine", machine: "worker-1", breaks: func(m *machine) { m.edit("/etc/cni/net.d/10-kiln.conflist", "10.244.21.0", "10.244.22.0") }, want: `file /etc/cni/net.d/10-kiln.conflist: gives pods addresses from "10.244.22.0/24", want "10.244.21.0/24"`},
		{name: "pods of two machines", fresh: true, breaks: func(m *machine) { m.r.Plan.Machines[3].PodCIDRs = m.r.Plan.Machines[0].PodCIDRs }, want: "nodes cp-1 and worker-1: pod CIDRs 10.244.11.0/24 and 10.244.11.0/24 overlap"},
		{name: "pods outside the cluster's", fresh: true, breaks: func(m *machine) {
			m.r.Plan.Machines[3].PodCIDRs = []netip.Prefix{netip.MustParsePrefix("10.245.0.0/24")}
		}, want: "node worker-1: pod CIDR 10.245.0.0/24 is not a part of 10.244.0.0/16"},
		{name: "pods and Services", fresh: true, breaks: func(m *machine) { m.r.Plan.PodSubnets[0] = netip.MustParsePrefix("10.96.0.0/16") }, want: "pod subnet 10.96.0.0/16 overlaps service subnet 10.96.0.0/12"},
		{name: "machine among the pods", fresh: true, machine: "worker-1", breaks: func(m *machine) { m.m.Addresses[0] = netip.MustParseAddr("10.244.0.9") }, want: "node worker-1: address 10.244.0.9 lies in 10.244.0.0/16"},
		{name: "DNS outside the Services", objects: replaced("Service", "kube-dns", "10.96.0.10", "10.112.0.10"), want: `Service kube-dns: "10.112.0.10" lies in no service subnet`},
		{name: "DNS of the kubelet", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "10.96.0.10", "10.96.0.11") }, want: `file /var/lib/kubelet/config.yaml: clusterDNS: "10.96.0.11" is not an address of the Service kube-dns (10.96.0.10)`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := broken(t, row.cluster, row.machine, row.fresh, row.objects, row.breaks)
			err := m.check()
			require.ErrorContains(t, err, row.want)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				require.True(t, strings.HasPrefix(line, "node ") || strings.HasPrefix(line, "pool "), "%q names no machine", line)
			}
			requireNoSecret(t, m, err)
		})
	}
}

// TestCheckAccepts: what only the user can judge is left to the user.
func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		cluster string
		machine string
		objects func([]manifests.Object) []manifests.Object
		breaks  func(m *machine)
	}{
		{name: "as rendered"},
		{name: "file of the image", breaks: func(m *machine) { m.pod("kube-apiserver", "--profiling=false", "--oidc-ca-file=/opt/oidc/ca.crt") }},
		{name: "file of the machine", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--profiling=false", "--oidc-ca-file=/etc/ssl/certs/oidc.crt")
		}},
		{name: "file of another user", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{Path: "/etc/ssl/certs/oidc.crt", Mode: 0o600, User: "idp", Group: "idp"})
			m.pod("kube-apiserver", "--profiling=false", "--oidc-ca-file=/etc/ssl/certs/oidc.crt")
		}},
		{name: "file of the pod's group", breaks: func(m *machine) {
			f := m.file(plan.EtcdOwnCA)
			f.User, f.Mode = "root", 0o640
		}},
		{name: "a pod that may do everything", breaks: func(m *machine) {
			m.file(plan.Encryption).User = "232"
			m.pod("kube-apiserver", "      allowPrivilegeEscalation: false\n", "      privileged: true\n")
		}},
		{name: "paths of URLs", breaks: func(m *machine) {
			m.pod("kube-scheduler", "--profiling=false", "--authorization-always-allow-paths=/healthz,/livez")
		}},
		{name: "audit log on standard output", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--audit-log-path=/var/log/kubernetes/audit.log", "--audit-log-path=-")
		}},
		{name: "flags in two words", breaks: func(m *machine) { m.pod("kube-scheduler", "--kubeconfig=/", "--kubeconfig\n    - /") }},
		{name: "a program that starts another", breaks: func(m *machine) {
			m.pod("kube-scheduler", "    - kube-scheduler\n", "    - /bin/wrapper\n")
			m.pod("kube-scheduler", "--bind-address=127.0.0.1", "--bind-address=10.0.0.11")
		}},
		{name: "a sidecar", breaks: func(m *machine) {
			m.pod("kube-scheduler", "  containers:\n", "  containers:\n  - {name: agent, image: agent, ports: [{containerPort: 9000}]}\n")
		}},
		{name: "a sidecar that sees the whole machine", breaks: func(m *machine) {
			m.pod("kube-scheduler", "  containers:\n", "  containers:\n  - {name: agent, image: agent, args: [--dir=/host/etc/kubernetes], volumeMounts: [{name: host, mountPath: /host}]}\n")
			m.pod("kube-scheduler", "  volumes:\n", "  volumes:\n  - {name: host, hostPath: {path: /}}\n")
		}},
		{name: "another static pod", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{Path: plan.ManifestsDir + "/kube-vip.yaml", Mode: 0o600, Content: []byte("{metadata: {name: kube-vip}, spec: {hostNetwork: true, containers: [{name: kube-vip, command: [kube-vip]}]}}")})
		}},
		{name: "a flag that quotes others", machine: "worker-1", breaks: func(m *machine) {
			m.edit(dropIn, "--node-ip=10.0.0.21", "--node-ip=10.0.0.21 \\\n  \"--v=a \\\"b --node-ip=10.0.0.99\"")
		}},
		{name: "probes of all addresses", breaks: func(m *machine) { m.pod("kube-scheduler", "--bind-address=127.0.0.1", "--bind-address=0.0.0.0") }},
		{name: "a resolver on each machine", machine: "worker-1", breaks: func(m *machine) { m.edit(plan.KubeletConfig, "10.96.0.10", "169.254.20.10") }},
		{name: "an old and a new key of service accounts", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{Path: plan.PKIDir + "/old.pub", Mode: 0o600, Content: m.r.Bundle.CAKey.PublicPEM()})
			m.pod("kube-apiserver", "    - --service-account-key-file=", "    - --service-account-key-file=/etc/kubernetes/pki/old.pub\n    - --service-account-key-file=")
		}},
		{name: "an old and a new CA", breaks: func(m *machine) {
			f := m.file(plan.CACert)
			f.Content = append(m.r.Bundle.EtcdCA.PEM(), f.Content...)
			m.pod("kube-controller-manager", "cluster-signing-key-file="+plan.CAKey, "cluster-signing-duration=1h")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, broken(t, row.cluster, row.machine, false, row.objects, row.breaks).check())
		})
	}
}

// broken breaks a machine, cp-1 of the case ha unless the row names another. The cluster is shared, unless it is changed.
func broken(t *testing.T, cluster, name string, changed bool, objects func([]manifests.Object) []manifests.Object, breaks func(*machine)) *machine {
	t.Helper()
	cluster, name = cmp.Or(cluster, "ha"), cmp.Or(name, "cp-1")
	var m *machine
	if changed || objects != nil {
		r := fresh(t, cluster)
		if objects != nil {
			r.EditObjects(objects)
		}
		m = rendered(t, r, name)
	} else {
		m = golden(t, cluster, name)
	}
	if breaks != nil {
		breaks(m)
	}
	return m
}

// requireNoSecret: no line of a secret file stands in a message.
func requireNoSecret(t *testing.T, m *machine, err error) {
	t.Helper()
	for _, f := range m.n.Files {
		if f.Secret == "" || !strings.Contains(string(f.Content), "PRIVATE KEY") {
			continue
		}
		for line := range strings.Lines(string(f.Content)) {
			if !strings.HasPrefix(line, "-----") {
				require.NotContains(t, err.Error(), strings.TrimSpace(line))
			}
		}
	}
	require.NotContains(t, err.Error(), m.r.Bundle.Token("large").Secret)
	require.NotContains(t, err.Error(), fmt.Sprintf("%x", []byte(m.r.Bundle.EncryptionKey)))
}
