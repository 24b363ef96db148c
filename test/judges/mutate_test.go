package judges

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/keyutil"
)

// TestMutations: of everything that can go wrong with a machine, one thing at a time goes wrong, and the judge who has
// to see it does. Each judge has something to see, so that one who sees nothing any more is noticed.
//
// /etc/kiln/files would show any change of a file, so it is made anew after each: the judge has to understand what is
// wrong. Only changes of the list itself leave it as it is.
func TestMutations(t *testing.T) {
	t.Parallel()
	assert.GreaterOrEqual(t, len(mutations), 280, "a table like this one shrinks unnoticed")
	forJudge := map[string]int{}
	for _, m := range mutations {
		by, _, _ := strings.Cut(m.by, ": ")
		forJudge[by]++
	}
	t.Log(len(mutations), forJudge)
	for _, j := range judges {
		assert.NotZero(t, forJudge[j.Name], "nothing is for %s to see", j.Name)
		before := j.Func(cluster(t, "ha", "ignition"))
		for name, m := range mutations {
			by, says, _ := strings.Cut(m.by, ": ")
			if by != j.Name {
				continue
			}
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				machines := cluster(t, "ha", "ignition")
				m.change(t, machines)
				if !strings.HasPrefix(name, "manifest ") {
					for _, machine := range machines {
						machine.File(manifestPath).Content = []byte(manifestOf(machine))
					}
				}
				findings := slices.DeleteFunc(j.Func(machines), func(finding string) bool { return slices.Contains(before, finding) })
				i := slices.IndexFunc(findings, func(finding string) bool { return strings.Contains(finding, says) })
				require.GreaterOrEqual(t, i, 0, "%s does not say %q but %q", j.Name, says, findings)
				t.Logf("%s: %s", j.Name, findings[i])
			})
		}
	}
}

// change is what goes wrong.
type change func(t *testing.T, cluster []*Machine)

// each returns the files of machines, both given as patterns; there is at least one.
func each(t *testing.T, cluster []*Machine, machines, file string) (out []*File) {
	t.Helper()
	for _, m := range machinesOf(t, cluster, machines) {
		for i := range m.Files {
			if ok, err := path.Match(file, m.Files[i].Path); err == nil && ok {
				out = append(out, &m.Files[i])
			}
		}
	}
	require.NotEmpty(t, out, "%s %s", machines, file)
	return out
}

func machinesOf(t *testing.T, cluster []*Machine, pattern string) (out []*Machine) {
	t.Helper()
	for _, m := range cluster {
		if ok, err := path.Match(pattern, m.Name); err == nil && ok {
			out = append(out, m)
		}
	}
	require.NotEmpty(t, out, pattern)
	return out
}

// edit replaces text where it first stands in a file.
func edit(machines, file, before, after string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			require.Contains(t, string(f.Content), before, f.Path)
			f.Content = []byte(strings.Replace(string(f.Content), before, after, 1))
		}
	}
}

// without takes away a line with this text.
func without(machines, file, text string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			lines := strings.SplitAfter(string(f.Content), "\n")
			i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, text) })
			require.GreaterOrEqual(t, i, 0, "%s: %s", f.Path, text)
			f.Content = []byte(strings.Join(slices.Delete(lines, i, i+1), ""))
		}
	}
}

// with adds text at the end of a file.
func with(machines, file, text string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			f.Content = append(slices.Clone(f.Content), text...)
		}
	}
}

// extraFlag adds a flag to a static pod.
func extraFlag(component, flag string) change {
	return edit("cp-*", staticPod(component), "    - "+component+"\n", "    - "+component+"\n    - --"+flag+"\n")
}

func chmod(machines, file string, mode uint32) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range eachOrDir(t, cluster, machines, file) {
			f.Mode = mode
		}
	}
}

func chown(machines, file, user string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range eachOrDir(t, cluster, machines, file) {
			f.User, f.Group = user, user
		}
	}
}

func eachOrDir(t *testing.T, cluster []*Machine, machines, name string) (out []*File) {
	t.Helper()
	for _, m := range machinesOf(t, cluster, machines) {
		if d := m.Dir(name); d != nil {
			out = append(out, d)
		}
	}
	if out == nil {
		out = each(t, cluster, machines, name)
	}
	return out
}

func remove(machines, file string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			for _, m := range machinesOf(t, cluster, machines) {
				m.Files = slices.DeleteFunc(m.Files, func(g File) bool { return g.Path == f.Path })
			}
		}
	}
}

// put gives a machine a file as another has it, under a path that need not be there yet.
func put(machine, to, other, from string) change {
	return func(t *testing.T, cluster []*Machine) {
		source := *each(t, cluster, other, from)[0]
		for _, m := range machinesOf(t, cluster, machine) {
			if f := m.File(to); f != nil {
				f.Content = source.Content
				continue
			}
			source.Path = to
			m.Files = append(m.Files, source)
		}
	}
}

func swap(machine, a, b string) change {
	return func(t *testing.T, cluster []*Machine) {
		f, g := each(t, cluster, machine, a)[0], each(t, cluster, machine, b)[0]
		f.Content, g.Content = g.Content, f.Content
	}
}

// all makes several changes that are one.
func all(changes ...change) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, c := range changes {
			c(t, cluster)
		}
	}
}

// onMachine changes what is no file.
func onMachine(machines string, f func(*Machine)) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, m := range machinesOf(t, cluster, machines) {
			f(m)
		}
	}
}

// reissue has the cluster's CA sign a certificate again for the same key, after a change of it.
func reissue(machine, file string, f func(*x509.Certificate)) change {
	return sign(machine, file, f, func(t *testing.T, cluster []*Machine) (*x509.Certificate, crypto.Signer) {
		key, err := keyutil.ParsePrivateKeyPEM(each(t, cluster, "cp-1", pki+"ca.key")[0].Content)
		require.NoError(t, err)
		return certificateIn(t, each(t, cluster, "cp-1", pki+"ca.crt")[0]), key.(crypto.Signer)
	})
}

// counterfeit has another CA of the same name sign a certificate.
func counterfeit(machine, file string) change {
	return sign(machine, file, func(*x509.Certificate) {}, func(t *testing.T, cluster []*Machine) (*x509.Certificate, crypto.Signer) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return certificateIn(t, each(t, cluster, "cp-1", pki+"ca.crt")[0]), key
	})
}

func sign(machine, file string, f func(*x509.Certificate), by func(*testing.T, []*Machine) (*x509.Certificate, crypto.Signer)) change {
	return func(t *testing.T, cluster []*Machine) {
		ca, key := by(t, cluster)
		for _, in := range each(t, cluster, machine, file) {
			old := certificateIn(t, in)
			template := &x509.Certificate{
				SerialNumber: big.NewInt(1), Subject: old.Subject, NotBefore: old.NotBefore, NotAfter: old.NotAfter,
				KeyUsage: old.KeyUsage, ExtKeyUsage: old.ExtKeyUsage, DNSNames: old.DNSNames, IPAddresses: old.IPAddresses,
			}
			f(template)
			parent := *ca
			parent.PublicKey = key.Public()
			der, err := x509.CreateCertificate(rand.Reader, template, &parent, old.PublicKey, key)
			require.NoError(t, err)
			_, rest := pem.Decode(in.Content)
			in.Content = append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), rest...)
		}
	}
}

func certificateIn(t *testing.T, f *File) *x509.Certificate {
	t.Helper()
	cert, err := firstCertificate(f.Content)
	require.NoError(t, err, f.Path)
	return cert
}

// Places on machines.
const (
	pki       = "/etc/kubernetes/pki/"
	settings  = "/etc/kubernetes/apiserver/"
	units     = "/etc/systemd/system/"
	cniConfig = "/etc/cni/net.d/*"
)

func staticPod(component string) string { return manifestsDir + "/" + component + ".yaml" }
func object(name string) string         { return objectsDir + "/*-" + name + ".yaml" }

// mutation is one thing that goes wrong, and the judge who has to see it; others may see it too. What the judge has to say
// of it may follow a colon.
type mutation struct {
	by     string
	change change
}

func noNames(c *x509.Certificate, names ...string) {
	c.DNSNames = slices.DeleteFunc(c.DNSNames, func(name string) bool { return slices.Contains(names, name) })
	c.IPAddresses = slices.DeleteFunc(c.IPAddresses, func(ip net.IP) bool { return slices.Contains(names, ip.String()) })
}

func lacking(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { noNames(c, names...) }
}

func subject(name string, groups ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: name, Organization: groups} }
}

func lasting(from, until time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		start := c.NotBefore
		c.NotBefore, c.NotAfter = start.Add(from), start.Add(until)
	}
}

func usedFor(usages ...x509.ExtKeyUsage) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.ExtKeyUsage = usages }
}

const (
	hour = time.Hour
	year = 365 * 24 * time.Hour
)

var mutations = map[string]mutation{
	// Modes, owners and presence of files.
	"static pod that all can read":          {"cis: 1.1.1 ", chmod("cp-*", staticPod("kube-apiserver"), 0o644)},
	"static pod of another user":            {"cis: 1.1.6 ", chown("cp-1", staticPod("kube-scheduler"), "etcd")},
	"static pod that is missing":            {"flags", remove("cp-1", staticPod("kube-controller-manager"))},
	"etcd's data that all can read":         {"cis: 1.1.11 ", chmod("cp-2", "/var/lib/etcd", 0o755)},
	"etcd's data of root":                   {"cis: 1.1.12 ", chown("cp-2", "/var/lib/etcd", "root")},
	"admin.conf for its group":              {"cis: 1.1.13 ", chmod("cp-1", "/etc/kubernetes/admin.conf", 0o640)},
	"admin.conf missing":                    {"cis: 1.1.13 ", remove("cp-*", "/etc/kubernetes/admin.conf")},
	"scheduler.conf that all can read":      {"cis: 1.1.15 ", chmod("cp-1", "/etc/kubernetes/scheduler.conf", 0o644)},
	"controller-manager.conf of another":    {"cis: 1.1.18 ", chown("cp-1", "/etc/kubernetes/controller-manager.conf", "etcd")},
	"CA of another user":                    {"cis: 1.1.19 ", chown("cp-1", pki+"ca.crt", "etcd")},
	"certificate that all can run":          {"cis: 1.1.20 ", chmod("cp-1", pki+"apiserver.crt", 0o755)},
	"key for its group":                     {"cis: 1.1.21 ", chmod("cp-1", pki+"apiserver.key", 0o640)},
	"kubelet's drop-in that all can read":   {"cis: 4.1.1 ", chmod("worker-1", kubeletDropIn, 0o644)},
	"kubelet's settings that all can read":  {"cis: 4.1.9 ", chmod("worker-1", kubeletConfig, 0o644)},
	"kubelet's settings of another":         {"cis: 4.1.10 ", chown("cp-1", kubeletConfig, "etcd")},
	"proxy.conf missing":                    {"cis: 4.1.3 ", remove("worker-1", "/etc/kubernetes/proxy.conf")},
	"proxy.conf that all can read":          {"cis: 4.1.3 ", chmod("worker-1", "/etc/kubernetes/proxy.conf", 0o644)},
	"leases left open":                      {"cis: 1.1.9 ", edit("cp-*", "/etc/kiln/keep-routes", "chmod 600", "chmod 644")},
	"encryption keys that all can read":     {"trust", chmod("cp-*", settings+"encryption.yaml", 0o644)},
	"kubelet's key that all can read":       {"trust", chmod("worker-1", "/var/lib/kubelet/pki/kubelet.key", 0o644)},
	"kubelet's client key for its group":    {"trust", chmod("worker-1", "/var/lib/kubelet/pki/kubelet-client-kiln.pem", 0o640)},
	"hook that all can write":               {"trust", chmod("worker-1", "/etc/kiln/boot", 0o666)},
	"folder that all can write":             {"trust", chmod("cp-1", "/etc/kubernetes", 0o777)},
	"static pods' folder that all can read": {"trust", chmod("cp-1", manifestsDir, 0o755)},
	"settings' folder that all can read":    {"trust", chmod("cp-1", "/etc/kubernetes/apiserver", 0o755)},
	"file of an unknown user":               {"trust", chown("worker-1", "/etc/hostname", "kiln")},
	"etcd's key of root":                    {"trust", chown("cp-1", "/etc/etcd/pki/server.key", "root")},
	"API server's key of etcd":              {"trust", chown("cp-1", pki+"apiserver.key", "etcd")},
	"audit policy missing":                  {"flags", remove("cp-1", settings+"audit.yaml")},

	// Flags.
	"API server with profiling":              {"cis: 1.2.15 ", without("cp-*", staticPod("kube-apiserver"), "--profiling")},
	"controller-manager with profiling":      {"cis: 1.3.2 ", edit("cp-*", staticPod("kube-controller-manager"), "--profiling=false", "--profiling=true")},
	"scheduler with profiling":               {"cis: 1.4.1 ", without("cp-*", staticPod("kube-scheduler"), "--profiling")},
	"no audit log":                           {"cis: 1.2.16 ", without("cp-*", staticPod("kube-apiserver"), "--audit-log-path")},
	"audit log for a week":                   {"cis: 1.2.17 ", edit("cp-*", staticPod("kube-apiserver"), "--audit-log-maxage=30", "--audit-log-maxage=7")},
	"audit log with few backups":             {"cis: 1.2.18 ", edit("cp-*", staticPod("kube-apiserver"), "--audit-log-maxbackup=10", "--audit-log-maxbackup=2")},
	"audit log that is small":                {"cis: 1.2.19 ", edit("cp-*", staticPod("kube-apiserver"), "--audit-log-maxsize=100", "--audit-log-maxsize=10")},
	"no audit policy":                        {"cis: 3.2.1 ", without("cp-*", staticPod("kube-apiserver"), "--audit-policy-file")},
	"no authorizer of nodes":                 {"cis: 1.2.7 ", edit("cp-*", staticPod("kube-apiserver"), "--authorization-mode=Node,RBAC", "--authorization-mode=RBAC")},
	"everything allowed":                     {"cis: 1.2.6 ", edit("cp-*", staticPod("kube-apiserver"), "--authorization-mode=Node,RBAC", "--authorization-mode=Node,RBAC,AlwaysAllow")},
	"nodes not restricted":                   {"cis: 1.2.14 ", edit("cp-*", staticPod("kube-apiserver"), "=NodeRestriction,", "=")},
	"everything admitted":                    {"cis: 1.2.10 ", edit("cp-*", staticPod("kube-apiserver"), "=NodeRestriction,", "=NodeRestriction,AlwaysAdmit,")},
	"external addresses of services":         {"cis: 1.2.3 ", edit("cp-*", staticPod("kube-apiserver"), ",DenyServiceExternalIPs", "")},
	"tokens in a file":                       {"cis: 1.2.2 ", extraFlag("kube-apiserver", "token-auth-file=/etc/kubernetes/pki/tokens.csv")},
	"service accounts not admitted":          {"cis: 1.2.12 ", extraFlag("kube-apiserver", "disable-admission-plugins=ServiceAccount")},
	"tokens of deleted accounts":             {"cis: 1.2.21 ", extraFlag("kube-apiserver", "service-account-lookup=false")},
	"tokens that last":                       {"cis: 1.2.30 ", without("cp-*", staticPod("kube-apiserver"), "--service-account-extend-token-expiration")},
	"kubelets not verified":                  {"cis: 1.2.5 ", without("cp-*", staticPod("kube-apiserver"), "--kubelet-certificate-authority")},
	"API server with a weak cipher":          {"cis: 1.2.29 ", edit("cp-*", staticPod("kube-apiserver"), "--tls-cipher-suites=", "--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA,")},
	"secrets in the clear":                   {"cis: 1.2.27 ", without("cp-*", staticPod("kube-apiserver"), "--encryption-provider-config=")},
	"controller-manager for all to reach":    {"cis: 1.3.7 ", edit("cp-*", staticPod("kube-controller-manager"), "--bind-address=127.0.0.1", "--bind-address=0.0.0.0")},
	"controllers with one identity":          {"cis: 1.3.3 ", edit("cp-*", staticPod("kube-controller-manager"), "credentials=true", "credentials=false")},
	"pods that are never collected":          {"cis: 1.3.1 ", without("cp-*", staticPod("kube-controller-manager"), "--terminated-pod-gc-threshold")},
	"scheduler for all to reach":             {"cis: 1.4.2 ", edit("cp-*", staticPod("kube-scheduler"), "--bind-address=127.0.0.1", "--bind-address=0.0.0.0")},
	"etcd for all clients":                   {"cis: 2.2 ", edit("cp-*", staticPod("etcd"), "--client-cert-auth=true", "--client-cert-auth=false")},
	"etcd for all peers":                     {"cis: 2.5 ", without("cp-*", staticPod("etcd"), "--peer-client-cert-auth")},
	"etcd with a certificate of its own":     {"cis: 2.3 ", extraFlag("etcd", "auto-tls=true")},
	"kubelet with another name":              {"cis: 4.2.7 ", edit("worker-1", kubeletDropIn, "--node-ip", "--hostname-override=other \\\n  --node-ip")},
	"API server's flag misspelt":             {"flags", edit("cp-*", staticPod("kube-apiserver"), "--secure-port", "--secureport")},
	"API server's flag of no number":         {"flags", edit("cp-*", staticPod("kube-apiserver"), "--audit-log-maxage=30", "--audit-log-maxage=month")},
	"API server's flag twice":                {"flags", extraFlag("kube-apiserver", "secure-port=6443")},
	"etcd's unknown flag":                    {"flags", extraFlag("etcd", "levitate=true")},
	"kubelet's unknown flag":                 {"flags", edit("worker-1", kubeletDropIn, "--node-ip", "--node-address=1 \\\n  --node-ip")},
	"kubelet's deprecated flag":              {"flags", edit("worker-1", kubeletDropIn, "--node-ip", "--anonymous-auth=false \\\n  --node-ip")},
	"kube-proxy's unknown flag":              {"flags", edit("cp-*", object("daemonset-kube-proxy"), "--hostname-override", "--hostname")},
	"unknown admission plugin":               {"flags", edit("cp-*", staticPod("kube-apiserver"), "EventRateLimit", "EventsRateLimit")},
	"controller-manager without election":    {"kubeadm", edit("cp-*", staticPod("kube-controller-manager"), "--leader-elect=true", "--leader-elect=false")},
	"API server that forbids privileged":     {"objects", without("cp-*", staticPod("kube-apiserver"), "--allow-privileged")},
	"API server that asks kubelets by name":  {"kubeadm", edit("cp-*", staticPod("kube-apiserver"), "=InternalIP,ExternalIP,Hostname", "=Hostname")},
	"etcd without its check of corruption":   {"kubeadm", without("cp-*", staticPod("etcd"), "InitialCorruptCheck")},
	"kubeconfig of another component":        {"trust", edit("cp-*", staticPod("kube-controller-manager"), "--kubeconfig=/etc/kubernetes/controller-manager.conf", "--kubeconfig=/etc/kubernetes/admin.conf")},
	"token signed by a key nobody knows":     {"trust", edit("cp-*", staticPod("kube-controller-manager"), "=/etc/kubernetes/pki/sa.key", "=/etc/kubernetes/pki/ca.key")},
	"scheduler on the manager's port":        {"trust", extraFlag("kube-scheduler", "secure-port=10257")},
	"extensions' client of another name":     {"trust", edit("cp-*", staticPod("kube-apiserver"), "names=front-proxy-client", "names=aggregator")},
	"etcd's members one short":               {"trust", edit("cp-*", staticPod("etcd"), ",cp-3=https://10.0.0.13:2380", "")},
	"etcd's member with another token":       {"trust", edit("cp-2", staticPod("etcd"), "--initial-cluster-token=", "--initial-cluster-token=x")},
	"etcd under another's address":           {"trust", edit("cp-2", staticPod("etcd"), "--initial-advertise-peer-urls=https://10.0.0.12", "--initial-advertise-peer-urls=https://10.0.0.13")},
	"etcd that peers do not reach":           {"trust", edit("cp-2", staticPod("etcd"), "--listen-peer-urls=https://10.0.0.12", "--listen-peer-urls=https://127.0.0.1")},
	"etcd's clients verified by another CA":  {"trust: apiserver-etcd-client.crt: x509: certificate signed by unknown authority", edit("cp-*", staticPod("etcd"), " --trusted-ca-file=/etc/etcd/pki/ca.crt", " --trusted-ca-file=/etc/etcd/pki/server.crt")},
	"API server's client by the wrong CA":    {"trust: controller-manager.crt: x509: certificate signed by unknown authority", edit("cp-*", staticPod("kube-apiserver"), " --client-ca-file=/etc/kubernetes/pki/ca.crt", " --client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt")},
	"one CA for clients and extensions":      {"trust: requestheader-client-ca-file: /etc/kubernetes/pki/ca.crt is the CA of", edit("cp-*", staticPod("kube-apiserver"), "=/etc/kubernetes/pki/front-proxy-ca.crt", "=/etc/kubernetes/pki/ca.crt")},
	"API server that anybody may use":        {"trust", without("cp-*", staticPod("kube-apiserver"), "--authentication-config")},
	"API server without limits of admission": {"trust", without("cp-*", staticPod("kube-apiserver"), "--admission-control-config-file")},

	// The kubelet.
	"kubelet for the anonymous":                {"cis: 4.2.1 ", edit("worker-1", kubeletConfig, "enabled: false", "enabled: true")},
	"kubelet that allows everything":           {"cis: 4.2.2 ", edit("worker-1", kubeletConfig, "mode: Webhook", "mode: AlwaysAllow")},
	"kubelet without a CA of clients":          {"cis: 4.2.3 ", edit("worker-1", kubeletConfig, "clientCAFile: /etc/kubernetes/pki/ca.crt", "clientCAFile: \"\"")},
	"kubelet that reads aloud":                 {"cis: 4.2.4 ", edit("worker-1", kubeletConfig, "readOnlyPort: 0", "readOnlyPort: 10255")},
	"kubelet that does not rotate":             {"cis: 4.2.10 ", edit("worker-1", kubeletConfig, "rotateCertificates: true", "rotateCertificates: false")},
	"kubelet without a certificate":            {"cis: 4.2.9 ", without("worker-1", kubeletConfig, "tlsCertFile")},
	"kubelet with weak ciphers":                {"cis: 4.2.12 ", edit("worker-1", kubeletConfig, "tlsCipherSuites:\n", "tlsCipherSuites:\n- TLS_RSA_WITH_AES_128_CBC_SHA\n")},
	"kubelet without a limit of processes":     {"cis: 4.2.13 ", without("worker-1", kubeletConfig, "podPidsLimit")},
	"kubelet without seccomp":                  {"cis: 4.2.14 ", without("worker-1", kubeletConfig, "seccompDefault")},
	"kubelet that keeps streams":               {"cis: 4.2.5 ", with("worker-1", kubeletConfig, "streamingConnectionIdleTimeout: 0\n")},
	"kubelet that leaves iptables alone":       {"cis: 4.2.6 ", with("worker-1", kubeletConfig, "makeIPTablesUtilChains: false\n")},
	"kubelet's unknown field":                  {"configurations", with("worker-1", kubeletConfig, "levitate: true\n")},
	"kubelet's field twice":                    {"configurations", with("worker-1", kubeletConfig, "readOnlyPort: 0\n")},
	"kubelet's key missing":                    {"configurations", remove("worker-1", "/var/lib/kubelet/pki/kubelet.key")},
	"kubelet that asks another DNS":            {"trust", edit("worker-1", kubeletConfig, "- 10.96.0.10", "- 10.96.0.11")},
	"kubelet that asks DNS out of range":       {"trust", edit("worker-1", kubeletConfig, "- 10.96.0.10", "- 10.0.0.10")},
	"kernel not as the kubelet wants it":       {"trust", without("worker-1", "/etc/sysctl.d/*", "vm.overcommit_memory")},
	"kernel that panics at once":               {"trust", edit("worker-1", "/etc/sysctl.d/*", "kernel.panic = 10", "kernel.panic = 1")},
	"kernel that does not forward":             {"trust", without("worker-1", "/etc/sysctl.d/*", "net.ipv4.ip_forward")},
	"kernel module missing":                    {"trust", without("worker-1", "/etc/modules-load.d/*", "br_netfilter")},
	"kubelet that manages cgroups its own way": {"trust", edit("worker-1", kubeletConfig, "cgroupDriver: systemd", "cgroupDriver: cgroupfs")},
	"runtime that manages cgroups its own way": {"trust", edit("worker-1", "/etc/containerd/config.toml", "SystemdCgroup = true", "SystemdCgroup = false")},
	"kubelet that asks another runtime":        {"trust", edit("worker-1", kubeletConfig, "containerd/containerd.sock", "crio/crio.sock")},
	"hook of another machine":                  {"trust", edit("worker-1", "/etc/kiln/machine", "node='worker-1'", "node='worker-2'")},
	"hook of a control plane":                  {"trust", edit("worker-1", "/etc/kiln/machine", "role='worker'", "role='control-plane'")},
	"hook of another cluster":                  {"trust", edit("worker-1", "/etc/kiln/machine", "cluster='", "cluster='x")},
	"hook that asks another API server":        {"trust", edit("worker-1", "/etc/kiln/machine", "api='https://api.ha", "api='https://api.hb")},
	"hook that asks one peer of two":           {"trust", edit("cp-1", "/etc/kiln/machine", " cp-3=https://10.0.0.13:2380,https://10.0.0.13:2379", "")},
	"machine of another name":                  {"trust", edit("worker-1", "/etc/hostname", "worker-1", "worker-2")},
	"kubelet's unit not enabled":               {"trust", onMachine("worker-1", func(m *Machine) { m.Units[slices.IndexFunc(m.Units, isUnit("kubelet.service"))].Enabled = false })},
	"hook not enabled":                         {"trust", onMachine("worker-1", func(m *Machine) { m.Units[slices.IndexFunc(m.Units, isUnit("kiln.service"))].Enabled = false })},
	"routes' keeper masked":                    {"trust", onMachine("worker-1", func(m *Machine) { m.Units[slices.IndexFunc(m.Units, isUnit("kiln-routes.service"))].Masked = true })},
	"swap not masked":                          {"trust", onMachine("worker-1", func(m *Machine) { m.Units = slices.DeleteFunc(m.Units, isUnit("swap.target")) })},
	"unit missing":                             {"trust: /etc/systemd/system/kiln.service: it is absent", remove("worker-1", units+"kiln.service")},
	"link to a unit missing":                   {"trust", onMachine("worker-1", func(m *Machine) { m.Links = slices.DeleteFunc(m.Links, isLink("kubelet.service")) })},
	"link to nothing": {"trust", onMachine("worker-1", func(m *Machine) {
		m.Links[slices.IndexFunc(m.Links, isLink("kubelet-client-current.pem"))].Target = "gone.pem"
	})},
	"static pod path that is another":         {"kubeadm", edit("cp-1", kubeletConfig, "staticPodPath: /etc/kubernetes/manifests", "staticPodPath: /etc/kubernetes/pods")},
	"kubelet's DNS domain that is another":    {"trust: not kubernetes.default.svc.example.com", edit("cp-1", kubeletConfig, "clusterDomain: cluster.local", "clusterDomain: example.com")},
	"control plane that takes anybody's pods": {"kubeadm", edit("cp-1", kubeletConfig, "effect: NoSchedule", "effect: PreferNoSchedule")},

	// Settings of the API server.
	"secrets' bodies in the audit log":       {"trust: /secrets is audited at RequestResponse", edit("cp-*", settings+"audit.yaml", "rules:\n", "rules:\n- level: RequestResponse\n  resources:\n  - group: \"\"\n    resources: [secrets]\n")},
	"tokens' bodies in the audit log":        {"trust: tokenreviews is audited at RequestResponse", edit("cp-*", settings+"audit.yaml", "rules:\n", "rules:\n- level: RequestResponse\n  resources:\n  - group: authentication.k8s.io\n")},
	"commands in pods not audited":           {"trust: /pods/exec is audited at None", edit("cp-*", settings+"audit.yaml", "rules:\n", "rules:\n- level: None\n  resources:\n  - group: \"\"\n    resources: [pods/exec]\n")},
	"most of it not audited":                 {"trust: /pods is audited at None", edit("cp-*", settings+"audit.yaml", "\n- level: Metadata\n", "\n")},
	"rights not audited":                     {"trust: clusterrolebindings is audited at Metadata", without("cp-*", settings+"audit.yaml", "group: rbac.authorization.k8s.io")},
	"unknown audit level":                    {"configurations", edit("cp-*", settings+"audit.yaml", "- level: Metadata", "- level: Everything")},
	"new secrets in the clear":               {"cis: 1.2.28 ", edit("cp-*", settings+"encryption.yaml", "  - secretbox:", "  - identity: {}\n  - secretbox:")},
	"encryption key too short":               {"configurations", edit("cp-*", settings+"encryption.yaml", "secret: ", "secret: YWJj #")},
	"encryption key that others do not have": {"trust", edit("cp-2", settings+"encryption.yaml", "name: g1", "name: g2")},
	"anonymous everywhere":                   {"trust", edit("cp-*", settings+"authentication.yaml", "  conditions:\n  - path: /livez\n  - path: /readyz\n  - path: /healthz\n", "")},
	"anonymous at the API":                   {"trust", edit("cp-*", settings+"authentication.yaml", "  - path: /healthz\n", "  - path: /healthz\n  - path: /api/v1/secrets\n")},
	"privileged pods for everybody":          {"trust", edit("cp-*", settings+"admission.yaml", "enforce: baseline", "enforce: privileged")},
	"privileged pods in default":             {"trust", edit("cp-*", settings+"admission.yaml", "      - kube-system\n", "      - kube-system\n      - default\n")},
	"unknown level of pods":                  {"configurations", edit("cp-*", settings+"admission.yaml", "enforce: baseline", "enforce: basic")},
	"no events at all":                       {"configurations", edit("cp-*", settings+"admission.yaml", "qps: 5000", "qps: 0")},
	"plugin without its settings":            {"trust", edit("cp-*", settings+"admission.yaml", "name: EventRateLimit", "name: ImagePolicyWebhook")},

	// Static pods and objects.
	"pod that is privileged":                  {"hygiene: privileged: want", edit("cp-*", staticPod("kube-scheduler"), "    securityContext:\n", "    securityContext:\n      privileged: true\n")},
	"pod that may gain privileges":            {"hygiene: no-escalation: want", edit("cp-*", staticPod("kube-scheduler"), "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true")},
	"pod with a capability":                   {"hygiene: add-capabilities: want", edit("cp-*", staticPod("etcd"), "      capabilities:\n", "      capabilities:\n        add: [SYS_ADMIN]\n")},
	"pod with all capabilities":               {"hygiene: drop-capabilities: want", edit("cp-*", staticPod("etcd"), "        - ALL\n", "        - NET_RAW\n")},
	"pod with the host's root":                {"hygiene: host-paths: want", edit("cp-*", staticPod("kube-scheduler"), "      path: /etc/kubernetes/pki/ca.crt\n      type: File\n", "      path: /\n      type: Directory\n")},
	"pod with a path of any type":             {"hygiene: host-paths: want", edit("cp-*", staticPod("etcd"), "      path: /var/lib/etcd\n      type: Directory\n", "      path: /var/lib/etcd\n")},
	"pod that writes to the keys":             {"hygiene: writable-paths: want", edit("cp-*", staticPod("kube-apiserver"), "      name: k8s-certs\n      readOnly: true\n", "      name: k8s-certs\n")},
	"pod with the host's processes":           {"hygiene: host-processes: want", edit("cp-*", staticPod("kube-scheduler"), "  hostNetwork: true\n", "  hostNetwork: true\n  hostPID: true\n")},
	"pod without seccomp":                     {"hygiene: seccomp: want", edit("cp-*", staticPod("kube-scheduler"), "type: RuntimeDefault", "type: Unconfined")},
	"pod that writes to its root":             {"hygiene: read-only-root: want", without("cp-*", staticPod("kube-apiserver"), "readOnlyRootFilesystem")},
	"etcd as root":                            {"hygiene: non-root: want", without("cp-*", staticPod("etcd"), "runAsUser")},
	"etcd as another user":                    {"trust", edit("cp-*", staticPod("etcd"), "runAsUser: 232", "runAsUser: 2380")},
	"pod without a liveness probe":            {"hygiene: liveness-probe: want", edit("cp-*", staticPod("kube-scheduler"), "livenessProbe:", "lifecycle: {}\n    startupProbe:")},
	"pod without a priority":                  {"hygiene: priority: want", edit("cp-*", staticPod("kube-scheduler"), "  priorityClassName: system-node-critical\n", "")},
	"pod without a request":                   {"hygiene: cpu-request: want", edit("cp-*", staticPod("etcd"), "        cpu: 100m\n", "")},
	"pod without a request of memory":         {"hygiene: memory-request: want", without("cp-*", staticPod("etcd"), "        memory: ")},
	"pod that is slowed down":                 {"hygiene: no-cpu-limit: want", edit("cp-*", staticPod("etcd"), "      requests:\n", "      limits: {cpu: 100m}\n      requests:\n")},
	"pod without a readiness probe":           {"hygiene: readiness-probe: want", edit("cp-*", staticPod("kube-scheduler"), "readinessProbe:", "lifecycle: {}\n    startupProbe:")},
	"pod that must start quickly":             {"hygiene: startup-probe: want", edit("cp-*", staticPod("kube-controller-manager"), "startupProbe:", "readinessProbe:")},
	"pod that is killed when it is not ready": {"hygiene: probes-differ: want", all(edit("cp-*", staticPod("etcd"), "failureThreshold: 8", "failureThreshold: 3"), edit("cp-*", staticPod("etcd"), "periodSeconds: 10", "periodSeconds: 1"))},
	"DNS on the host's network":               {"hygiene: host-network: want", edit("cp-*", object("deployment-coredns"), "      dnsPolicy: Default\n", "      dnsPolicy: Default\n      hostNetwork: true\n")},
	"pod pulled each time":                    {"hygiene: pull-policy: want", edit("cp-*", staticPod("etcd"), "IfNotPresent", "Always")},
	"image that moves":                        {"hygiene: pinned-image: want", edit("cp-*", staticPod("kube-scheduler"), "kube-scheduler:v1.", "kube-scheduler:latest # v1.")},
	"image of another version":                {"trust", edit("cp-*", staticPod("kube-scheduler"), "kube-scheduler:v1.", "kube-scheduler:v1.1")},
	"image of another version on one":         {"trust", edit("cp-2", staticPod("etcd"), "etcd:3.", "etcd:4.")},
	"image of another registry":               {"trust", edit("cp-*", staticPod("kube-scheduler"), "image: ", "image: registry.example.com/")},
	"sandbox of another version":              {"trust", edit("worker-1", "/etc/containerd/config.toml", "pause:3.", "pause:2.")},
	"probe of another port":                   {"trust", edit("cp-*", staticPod("kube-scheduler"), "containerPort: 10259", "containerPort: 10251")},
	"probe of another machine":                {"trust: a probe asks 10.0.0.12", edit("cp-1", staticPod("kube-apiserver"), "host: 10.0.0.11", "host: 10.0.0.12")},
	"pod without its volume":                  {"flags", edit("cp-*", staticPod("kube-scheduler"), "mountPath: /etc/kubernetes/scheduler.conf", "mountPath: /etc/kubernetes/other.conf")},
	"pod with an unknown field":               {"objects", edit("cp-*", staticPod("etcd"), "  hostNetwork: true", "  hostNetwrok: true")},
	"pod with a field twice":                  {"objects", edit("cp-*", staticPod("etcd"), "  hostNetwork: true\n", "  hostNetwork: true\n  hostNetwork: true\n")},
	"pod on the pods' network":                {"kubeadm", edit("cp-*", staticPod("kube-scheduler"), "  hostNetwork: true\n", "")},
	"node without its role":                   {"trust", without("cp-1", "/etc/kiln/node.yaml", "node-role.kubernetes.io/control-plane")},
	"node of another name":                    {"trust", edit("cp-1", "/etc/kiln/node.yaml", "name: cp-1", "name: cp-2")},
	"object's unknown field":                  {"objects", edit("cp-*", object("deployment-coredns"), "replicas: 2", "replicaCount: 2")},
	"object's kind in another version":        {"objects", edit("cp-*", object("deployment-coredns"), "apiVersion: apps/v1", "apiVersion: apps/v1beta1")},
	"object at another path":                  {"objects", edit("cp-*", objectsDir+"/index", "configmaps/coredns", "configmaps/dns")},
	"object that is missing":                  {"objects", remove("cp-*", object("service-kube-dns"))},
	"object that differs on one":              {"trust", edit("cp-2", object("deployment-coredns"), "replicas: 2", "replicas: 3")},
	"DNS at another address":                  {"trust", edit("cp-*", object("service-kube-dns"), "clusterIP: 10.96.0.10", "clusterIP: 10.96.0.99")},
	"DNS that does not look for loops":        {"kubeadm", without("cp-*", object("configmap-coredns"), "        loop")},
	"DNS that knows no services":              {"kubeadm", edit("cp-*", object("configmap-coredns"), "kubernetes cluster.local", "kubernetes example.com")},
	"DNS that no control plane takes":         {"kubeadm", without("cp-*", object("deployment-coredns"), "key: node-role.kubernetes.io/control-plane")},
	"DNS without a limit of memory":           {"hygiene: memory-limit: want", edit("cp-*", object("deployment-coredns"), "            memory: 170Mi\n", "            ephemeral-storage: 170Mi\n")},
	"DNS that may gain privileges":            {"hygiene: no-escalation: want", edit("cp-*", object("deployment-coredns"), "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true")},
	"DNS on one machine":                      {"hygiene: spread: want", edit("cp-*", object("deployment-coredns"), "podAntiAffinity", "podAffinity")},
	"DNS without a service account":           {"trust", edit("cp-*", object("deployment-coredns"), "serviceAccountName: coredns", "serviceAccountName: dns")},
	"kube-proxy in an unknown mode":           {"configurations", edit("cp-*", object("configmap-kube-proxy"), "mode: nftables", "mode: userspace")},
	"kube-proxy for other pods":               {"trust", edit("cp-*", object("configmap-kube-proxy"), "clusterCIDR: 10.244.0.0/16", "clusterCIDR: 10.245.0.0/16")},
	"kube-proxy's figures for all":            {"trust", edit("cp-*", object("configmap-kube-proxy"), "    mode: nftables", "    metricsBindAddress: 0.0.0.0:10249\n    mode: nftables")},
	"kube-proxy of another cluster":           {"trust", edit("cp-*", object("configmap-kube-proxy"), "server: https://api.ha", "server: https://api.hb")},
	"kube-proxy not on all machines":          {"kubeadm", edit("cp-*", object("daemonset-kube-proxy"), "- operator: Exists", "- key: none")},
	"pods' addresses of another machine":      {"trust: is also that of worker-", put("worker-2", "/etc/cni/net.d/10-kiln.conflist", "worker-1", cniConfig)},
	"route missing":                           {"trust", without("worker-1", "/etc/kiln/routes", "10.244.40.0/24")},
	"route by another machine":                {"trust", edit("worker-1", "/etc/kiln/routes", "10.0.0.40", "10.0.0.41")},
	"routes one short":                        {"trust", edit("worker-1", "/etc/kiln/routes", "10.0.0.11 3", "10.0.0.11 2")},
	"pods' addresses out of range":            {"trust: is not in [10.244.0.0/16]", edit("worker-1", cniConfig, "10.244.21.0/24", "10.245.21.0/24")},

	// Rights.
	"administrator is everybody":      {"trust: somebody system:authenticated may get /secrets", with("cp-*", object("clusterrolebinding-kubeadm-cluster-admins"), "- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:authenticated'}\n")},
	"kubelets are the anonymous'":     {"trust: system:anonymous system:unauthenticated may create /nodes/proxy", with("cp-*", object("*-kubelet-client"), "- {apiGroup: rbac.authorization.k8s.io, kind: User, name: 'system:anonymous'}\n")},
	"no administrator":                {"trust: may not delete /secrets", edit("cp-*", object("clusterrolebinding-kubeadm-cluster-admins"), "name: cluster-admin\n", "name: view\n")},
	"API server may not use kubelets": {"trust: may not create /nodes/proxy", edit("cp-*", object("*-kubelet-client"), "name: system:kubelet-api-admin", "name: system:node")},
	"any node's certificate for all":  {"trust: somebody system:authenticated may create", all(edit("cp-*", object("*-certificate-rotation"), "selfnodeclient", "nodeclient"), with("cp-*", object("*-certificate-rotation"), "- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:authenticated'}\n"))},
	"no certificate for nodes":        {"trust: may not create certificates.k8s.io/certificatesigningrequests/selfnodeclient", edit("cp-*", object("*-certificate-rotation"), "selfnodeclient", "nodeclient")},
	"kube-proxy sees no services":     {"trust: kube-proxy may not watch /services", edit("cp-*", object("*-node-proxier"), "namespace: kube-system", "namespace: default")},
	"kube-proxy's binding missing":    {"trust: kube-proxy may not watch /services", all(remove("cp-*", object("*-node-proxier")), without("cp-*", objectsDir+"/index", "node-proxier"))},
	"kube-proxy's account missing":    {"trust: no service account kube-proxy", all(remove("cp-*", object("serviceaccount-kube-proxy")), without("cp-*", objectsDir+"/index", "serviceaccounts/kube-proxy"))},
	"kube-proxy sees secrets":         {"trust: may get /secrets", edit("cp-*", object("*-node-proxier"), "name: system:node-proxier", "name: cluster-admin")},
	"DNS sees no endpoints":           {"trust: may not watch discovery.k8s.io/endpointslices", edit("cp-*", object("clusterrole-system-coredns"), "  - endpointslices", "  - endpoints")},
	"DNS sees secrets":                {"trust: may list /secrets", edit("cp-*", object("clusterrole-system-coredns"), "  - services\n", "  - services\n  - secrets\n")},

	// Certificates and keys.
	"API server not named by the endpoint":  {"trust: not api.ha.example.com", reissue("cp-1", pki+"apiserver.crt", lacking("api.ha.example.com"))},
	"API server not named for pods":         {"trust: not 10.96.0.1", reissue("cp-1", pki+"apiserver.crt", lacking("10.96.0.1"))},
	"API server not named by its service":   {"trust: not kubernetes.default.svc", reissue("cp-1", pki+"apiserver.crt", lacking("kubernetes.default.svc"))},
	"API server not named on its machine":   {"trust: not 127.0.0.1", reissue("cp-1", pki+"apiserver.crt", lacking("127.0.0.1"))},
	"API server not named by its address":   {"trust: not 10.0.0.11", reissue("cp-1", pki+"apiserver.crt", lacking("10.0.0.11"))},
	"API server's certificate for clients":  {"trust: incompatible key usage", reissue("cp-1", pki+"apiserver.crt", usedFor(x509.ExtKeyUsageClientAuth))},
	"API server's certificate ended":        {"trust: apiserver.crt: x509: certificate has expired", reissue("cp-1", pki+"apiserver.crt", lasting(-year, -hour))},
	"API server's certificate to come":      {"trust: apiserver.crt: x509: certificate has expired or is not yet valid", reissue("cp-1", pki+"apiserver.crt", lasting(48*hour, year))},
	"API server's certificate about to end": {"trust: apiserver.crt ends in", reissue("cp-1", pki+"apiserver.crt", lasting(0, 240*hour))},
	"API server's certificate counterfeit":  {"trust: apiserver.crt: x509: certificate signed by unknown authority", counterfeit("cp-1", pki+"apiserver.crt")},
	"API server shows etcd's certificate":   {"trust: apiserver.crt: x509: certificate signed by unknown authority", all(put("cp-1", pki+"apiserver.crt", "cp-1", "/etc/etcd/pki/server.crt"), put("cp-1", pki+"apiserver.key", "cp-1", "/etc/etcd/pki/server.key"))},
	"API server's key is another's":         {"flags", put("cp-1", pki+"apiserver.key", "cp-2", pki+"apiserver.key")},
	"keys swapped":                          {"configurations", swap("cp-1", pki+"scheduler.key", pki+"controller-manager.key")},
	"kubelet not named by its address":      {"trust: because it doesn't contain any IP SANs", reissue("worker-1", "/var/lib/kubelet/pki/kubelet.crt", lacking("10.0.0.21"))},
	"kubelet not named by its name":         {"trust: wanted to match worker-1", reissue("worker-1", "/var/lib/kubelet/pki/kubelet.crt", lacking("worker-1"))},
	"kubelet with another's certificate":    {"trust: not 10.0.0.21", all(put("worker-1", "/var/lib/kubelet/pki/kubelet.crt", "worker-2", "/var/lib/kubelet/pki/kubelet.crt"), put("worker-1", "/var/lib/kubelet/pki/kubelet.key", "worker-2", "/var/lib/kubelet/pki/kubelet.key"))},
	"kubelet that is another":               {"trust: is for CN=system:node:worker-2", put("worker-1", "/var/lib/kubelet/pki/kubelet-client-kiln.pem", "worker-2", "/var/lib/kubelet/pki/kubelet-client-kiln.pem")},
	"kubelet that is an administrator":      {"trust: is an administrator's", reissue("worker-1", "/var/lib/kubelet/pki/kubelet-client-kiln.pem", subject("system:node:worker-1", "system:nodes", "system:masters"))},
	"kubelet that is no node":               {"trust: group:system:nodes", reissue("worker-1", "/var/lib/kubelet/pki/kubelet-client-kiln.pem", subject("system:node:worker-1"))},
	"kubelet's client counterfeit":          {"trust: kubelet-client-current.pem: x509: certificate signed by unknown authority", counterfeit("worker-1", "/var/lib/kubelet/pki/kubelet-client-kiln.pem")},
	"kubelets' client of another name":      {"trust: apiserver-kubelet-client.crt is for CN=kube-apiserver", reissue("cp-1", pki+"apiserver-kubelet-client.crt", subject("kube-apiserver"))},
	"scheduler of another name":             {"trust: scheduler.crt is for CN=kube-scheduler", reissue("cp-1", pki+"scheduler.crt", subject("kube-scheduler"))},
	"scheduler as the manager":              {"trust: scheduler.conf: /etc/kubernetes/pki/controller-manager.crt is for", edit("cp-1", "/etc/kubernetes/scheduler.conf", "scheduler.crt\n    client-key: /etc/kubernetes/pki/scheduler.key", "controller-manager.crt\n    client-key: /etc/kubernetes/pki/controller-manager.key")},
	"administrator for a year":              {"trust: is an administrator's for 8759h", reissue("cp-1", pki+"install.crt", lasting(0, year))},
	"administrator for ever":                {"trust: install.key stays after the first boot", edit("cp-1", "/etc/kiln/machine", "/etc/kubernetes/pki/install.key", "")},
	"administrator without rights":          {"trust: install.crt is for CN=kiln:install", reissue("cp-1", pki+"install.crt", subject("kiln:install"))},
	"etcd with a peer's certificate":        {"trust: peer.crt: x509: certificate is valid for 10.0.0.12", all(put("cp-1", "/etc/etcd/pki/peer.crt", "cp-2", "/etc/etcd/pki/peer.crt"), put("cp-1", "/etc/etcd/pki/peer.key", "cp-2", "/etc/etcd/pki/peer.key"))},
	"etcd with the cluster's certificate":   {"trust: server.crt: x509: certificate signed by unknown authority", all(put("cp-1", "/etc/etcd/pki/server.crt", "cp-1", pki+"apiserver.crt"), put("cp-1", "/etc/etcd/pki/server.key", "cp-1", pki+"apiserver.key"))},
	"etcd's CA is the cluster's":            {"trust: etcd-cafile: /etc/kubernetes/pki/etcd/ca.crt is the CA of", put("cp-1", pki+"etcd/ca.crt", "cp-1", pki+"ca.crt")},
	"extensions' CA is the cluster's":       {"trust: front-proxy-ca.crt is the CA of", put("cp-*", pki+"front-proxy-ca.crt", "cp-1", pki+"ca.crt")},
	"CA of another cluster":                 {"trust: ca.crt: it is not the one of cp-1", put("worker-1", pki+"ca.crt", "cp-1", "/etc/etcd/pki/ca.crt")},
	"CA's key of another":                   {"trust: ca.key: tls: private key does not match public key", put("cp-*", pki+"ca.key", "cp-1", pki+"sa.key")},
	"service accounts' key on one":          {"trust: sa.key: it is not the one of cp-1", put("cp-2", pki+"sa.key", "cp-1", pki+"ca.key")},
	"service accounts' public key another":  {"trust: does not know its public key", put("cp-*", pki+"sa.pub", "cp-1", pki+"ca.crt")},
	"CA's key on a worker":                  {"trust: ca.key: nothing on this machine uses", put("worker-1", pki+"ca.key", "cp-1", pki+"ca.key")},
	"administrator's key on a worker":       {"trust: install.key on worker-1", all(put("worker-1", pki+"install.crt", "cp-1", pki+"install.crt"), put("worker-1", pki+"install.key", "cp-1", pki+"install.key"))},
	"another kubelet's key on a worker":     {"trust: old.pem: nothing on this machine uses", put("worker-1", "/var/lib/kubelet/pki/old.pem", "worker-2", "/var/lib/kubelet/pki/kubelet-client-kiln.pem")},
	"encryption keys on a worker":           {"trust: encryption.yaml: it is for control planes", put("worker-1", settings+"encryption.yaml", "cp-1", settings+"encryption.yaml")},

	// Kubeconfigs.
	"kubeconfig to another cluster":      {"trust: not api.hb.example.com", edit("worker-1", "/etc/kubernetes/kubelet.conf", "api.ha.example.com", "api.hb.example.com")},
	"kubeconfig to another port":         {"trust: want https://10.0.0.11:6443", edit("cp-1", "/etc/kubernetes/scheduler.conf", ":6443", ":6444")},
	"kubeconfig to another machine":      {"trust: the server is another control plane", edit("cp-1", "/etc/kubernetes/scheduler.conf", "10.0.0.11", "10.0.0.12")},
	"kubeconfig that trusts another CA":  {"trust: is not the cluster's CA", edit("cp-1", "/etc/kubernetes/scheduler.conf", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/front-proxy-ca.crt")},
	"kubeconfig that names no file":      {"configurations", edit("worker-1", "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/none.crt")},
	"kubeconfig's unknown context":       {"configurations", edit("worker-1", "/etc/kubernetes/kubelet.conf", "current-context: ", "current-context: x")},
	"kubeconfig with a token of nobody":  {"trust: does not know the token", edit("worker-1", "/etc/kubernetes/proxy.conf", "user: {}", "user:\n    token: abcdef.0123456789abcdef")},
	"kubeconfig with no user of its own": {"trust: kubelet.conf: it does not have one cluster and one user", edit("worker-1", "/etc/kubernetes/kubelet.conf", "users:", "users: []\nothers:")},

	// The rest of the benchmark.
	"API server's pod of another":                  {"cis: 1.1.2 ", chown("cp-1", staticPod("kube-apiserver"), "etcd")},
	"controller-manager's pod that all can read":   {"cis: 1.1.3 ", chmod("cp-1", staticPod("kube-controller-manager"), 0o604)},
	"controller-manager's pod of another":          {"cis: 1.1.4 ", chown("cp-1", staticPod("kube-controller-manager"), "etcd")},
	"scheduler's pod for its group":                {"cis: 1.1.5 ", chmod("cp-1", staticPod("kube-scheduler"), 0o640)},
	"etcd's pod that can be run":                   {"cis: 1.1.7 ", chmod("cp-1", staticPod("etcd"), 0o700)},
	"etcd's pod of etcd":                           {"cis: 1.1.8 ", chown("cp-1", staticPod("etcd"), "etcd")},
	"admin.conf of another":                        {"cis: 1.1.14 ", chown("cp-1", "/etc/kubernetes/admin.conf", "etcd")},
	"scheduler.conf of another":                    {"cis: 1.1.16 ", chown("cp-1", "/etc/kubernetes/scheduler.conf", "etcd")},
	"controller-manager.conf that all can read":    {"cis: 1.1.17 ", chmod("cp-1", "/etc/kubernetes/controller-manager.conf", 0o644)},
	"API server without a key for kubelets":        {"cis: 1.2.4 ", without("cp-*", staticPod("kube-apiserver"), "--kubelet-client-key")},
	"no rights by role":                            {"cis: 1.2.8 ", edit("cp-*", staticPod("kube-apiserver"), "--authorization-mode=Node,RBAC", "--authorization-mode=Node")},
	"events without end":                           {"cis: 1.2.9 ", edit("cp-*", staticPod("kube-apiserver"), ",EventRateLimit", "")},
	"images pulled for every pod":                  {"cis: 1.2.11 passes", edit("cp-*", staticPod("kube-apiserver"), ",EventRateLimit", ",EventRateLimit,AlwaysPullImages")},
	"namespaces that do not end":                   {"cis: 1.2.13 ", extraFlag("kube-apiserver", "disable-admission-plugins=NamespaceLifecycle")},
	"tokens that nobody verifies":                  {"cis: 1.2.22 ", without("cp-*", staticPod("kube-apiserver"), "--service-account-key-file")},
	"API server without a key for etcd":            {"cis: 1.2.23 ", without("cp-*", staticPod("kube-apiserver"), "--etcd-keyfile")},
	"API server without a certificate":             {"cis: 1.2.24 ", without("cp-*", staticPod("kube-apiserver"), "--tls-cert-file")},
	"API server without a CA of clients":           {"cis: 1.2.25 ", without("cp-*", staticPod("kube-apiserver"), "- --client-ca-file")},
	"API server without etcd's CA":                 {"cis: 1.2.26 ", without("cp-*", staticPod("kube-apiserver"), "--etcd-cafile")},
	"tokens that nobody signs":                     {"cis: 1.3.4 ", without("cp-*", staticPod("kube-controller-manager"), "--service-account-private-key-file")},
	"pods that know no CA":                         {"cis: 1.3.5 ", without("cp-*", staticPod("kube-controller-manager"), "--root-ca-file")},
	"serving certificates not rotated":             {"cis: 1.3.6 ", extraFlag("kube-controller-manager", "feature-gates=RotateKubeletServerCertificate=false")},
	"etcd without a key":                           {"cis: 2.1 ", without("cp-*", staticPod("etcd"), "- --key-file")},
	"etcd without a key for peers":                 {"cis: 2.4 ", without("cp-*", staticPod("etcd"), "--peer-key-file")},
	"etcd with a certificate of its own for peers": {"cis: 2.6 ", extraFlag("etcd", "peer-auto-tls=true")},
	"etcd without a CA":                            {"cis: 2.7 ", without("cp-*", staticPod("etcd"), "- --trusted-ca-file")},
	"kubelet's drop-in of another":                 {"cis: 4.1.2 ", chown("cp-1", kubeletDropIn, "etcd")},
	"proxy.conf of another":                        {"cis: 4.1.4 ", chown("cp-1", "/etc/kubernetes/proxy.conf", "etcd")},
	"kubelet.conf for its group":                   {"cis: 4.1.5 ", chmod("worker-1", "/etc/kubernetes/kubelet.conf", 0o640)},
	"kubelet.conf of another":                      {"cis: 4.1.6 ", chown("cp-1", "/etc/kubernetes/kubelet.conf", "etcd")},
	"CA that all can write":                        {"cis: 4.1.7 ", chmod("worker-1", pki+"ca.crt", 0o666)},
	"CA of another user, as the kubelet reads it":  {"cis: 4.1.8 ", chown("cp-1", pki+"ca.crt", "etcd")},
	"kubelet with no events":                       {"cis: 4.2.8 ", with("worker-1", kubeletConfig, "eventRecordQPS: -1\n")},
	"kubelet that keeps its serving certificate":   {"cis: 4.2.11 ", with("worker-1", kubeletConfig, "featureGates: {RotateKubeletServerCertificate: false}\n")},
	"kube-proxy's figures for all by a flag":       {"cis: 4.3.1 ", edit("cp-*", object("daemonset-kube-proxy"), "- --hostname-override", "- --metrics-bind-address=0.0.0.0:10249\n        - --hostname-override")},

	// The list of files; it is not made anew after these.
	"manifest without a file":         {"trust", without("worker-1", manifestPath, kubeletConfig)},
	"manifest with another mode":      {"trust", edit("worker-1", manifestPath, "0600 - "+kubeletConfig, "0644 - "+kubeletConfig)},
	"manifest with another owner":     {"trust", edit("cp-1", manifestPath, "232:232 /etc/etcd/pki/ca.crt", "- /etc/etcd/pki/ca.crt")},
	"manifest of another file":        {"trust", edit("worker-1", kubeletConfig, "readOnlyPort: 0", "readOnlyPort: 00")},
	"manifest cut off":                {"trust", without("worker-1", manifestPath, "end")},
	"manifest without a link":         {"trust", without("worker-1", manifestPath, "link ")},
	"manifest of a file that is gone": {"trust", remove("worker-1", "/etc/kiln/masquerade")},
	"manifest with a line of its own": {"trust", edit("worker-1", manifestPath, "end", "dir 0700 - /srv\nend")},
}

func isUnit(name string) func(Unit) bool { return func(u Unit) bool { return u.Name == name } }

func isLink(name string) func(Link) bool {
	return func(l Link) bool { return path.Base(l.Path) == name }
}
