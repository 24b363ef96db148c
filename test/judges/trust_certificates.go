package judges

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/test/judges/machine"
)

// credential is a certificate as it is used: somebody shows it to somebody who verifies it.
type credential struct {
	use       string
	cert, key string // files on the machine
	ca        *File  // by which it is verified
	usage     x509.ExtKeyUsage
	names     []string // by which the other side knows a server
	who       identity // as whom the other side knows a client; empty for anybody
}

// identity is a certificate's name, and a group that it has to be of.
type identity struct{ name, group string }

// credentials checks that every certificate verifies where it is presented, for the names that
// clients use, and belongs to its key.
func (t *trust) credentials() {
	for _, c := range t.credentialsOf(t.at) {
		pair, err := tls.X509KeyPair(t.content(c.cert), t.content(c.key))
		if err != nil {
			t.find("%s: %s and %s: %v", c.use, c.cert, c.key, err)
			continue
		}
		if c.ca == nil {
			t.find("%s: nothing verifies %s", c.use, c.cert)
			continue
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.ca.Content)
		options := x509.VerifyOptions{
			Roots: roots, CurrentTime: t.now, KeyUsages: []x509.ExtKeyUsage{c.usage},
		}
		if _, err := pair.Leaf.Verify(options); err != nil {
			t.find("%s: %s: %v", c.use, c.cert, err)
		}
		for _, name := range c.names {
			if err := pair.Leaf.VerifyHostname(strings.Trim(name, "[]")); err != nil {
				t.find("%s: %s: %v", c.use, c.cert, err)
			}
		}
		subject := pair.Leaf.Subject
		if c.who.name != "" && subject.CommonName != c.who.name ||
			c.who.group != "" && !slices.Contains(subject.Organization, c.who.group) {
			t.find("%s: %s is for %s, want %+v", c.use, c.cert, subject, c.who)
		}
		t.lasts(c, pair.Leaf)
	}
}

// lasts checks that certificates last long enough to be renewed in time. Only admin.conf may hold
// an administrator's certificate, and that must not last longer than a cluster takes to form.
func (t *trust) lasts(c credential, cert *x509.Certificate) {
	const day = 24 * time.Hour
	left := cert.NotAfter.Sub(t.now)
	switch admin := slices.Contains(cert.Subject.Organization, "system:masters"); {
	case admin && c.who.group != "system:masters":
		t.find("%s: %s is an administrator's", c.use, c.cert)
	case admin && left > 31*day:
		t.find("%s: %s is an administrator's for %s", c.use, c.cert, left)
	case !admin && left < 90*day:
		t.find("%s: %s ends in %s", c.use, c.cert, left)
	}
}

// credentialsOf lists how a machine's certificates are used.
func (t *trust) credentialsOf(m *Machine) (out []credential) {
	api := func(flag string) string { return t.option(m, "kube-apiserver", flag) }
	ofAPI := func(flag string) *File {
		return t.first().File(t.option(t.first(), "kube-apiserver", flag))
	}
	clusterCA := m.File("/etc/kubernetes/pki/ca.crt")
	node := identity{"system:node:" + m.Name, "system:nodes"}

	if m.Joins() && !m.WithToken() {
		config := machine.Read[struct {
			TLSCertFile, TLSPrivateKeyFile string
		}](m.File(kubeletConfig))
		names := append(strings.Split(t.option(m, "kubelet", "node-ip"), ","), m.Name)
		// Without the flag, the API server does not verify the certificate.
		ca := cmp.Or(ofAPI("kubelet-certificate-authority"), clusterCA)
		out = append(out, credential{
			"kubelet to API server", config.TLSCertFile, config.TLSPrivateKeyFile,
			ca, x509.ExtKeyUsageServerAuth, names, node,
		})
	}
	for file, who := range map[string]identity{
		"/etc/kubernetes/kubelet.conf":            node,
		"/etc/kubernetes/controller-manager.conf": {name: "system:kube-controller-manager"},
		"/etc/kubernetes/scheduler.conf":          {name: "system:kube-scheduler"},
		"/etc/kubernetes/admin.conf":              {group: "system:masters"},
		"/etc/kubernetes/kube-vip.conf":           {name: "kube-vip"},
	} {
		if f := m.File(file); f != nil {
			user := readKubeconfig(f)
			out = append(out, credential{
				file, user.cert, user.key,
				ofAPI("client-ca-file"), x509.ExtKeyUsageClientAuth, nil, who,
			})
		}
	}
	if t.commands[m]["etcd"] != nil {
		out = append(out, t.memberCredentials(m)...)
	}
	if !m.ControlPlane() {
		return out
	}

	kubeletCA := m.File(machine.Read[struct {
		Authentication struct{ X509 struct{ ClientCAFile string } }
	}](m.File(kubeletConfig)).Authentication.X509.ClientCAFile)
	frontProxy := identity{name: api("requestheader-allowed-names")}
	out = append(out,
		credential{
			"API server", api("tls-cert-file"), api("tls-private-key-file"),
			clusterCA, x509.ExtKeyUsageServerAuth, t.apiNames(m), identity{},
		},
		credential{
			"API server to kubelet", api("kubelet-client-certificate"), api("kubelet-client-key"),
			kubeletCA, x509.ExtKeyUsageClientAuth, nil,
			identity{name: "kube-apiserver-kubelet-client"},
		},
		credential{
			"API server to extensions", api("proxy-client-cert-file"), api("proxy-client-key-file"),
			m.File(api("requestheader-client-ca-file")), x509.ExtKeyUsageClientAuth, nil,
			frontProxy,
		},
	)
	for _, member := range t.membersOf(m) {
		serverCA := member.File(t.option(member, "etcd", "trusted-ca-file"))
		out = append(out, credential{
			"API server to etcd", api("etcd-certfile"), api("etcd-keyfile"),
			serverCA, x509.ExtKeyUsageClientAuth, nil, identity{},
		})
	}
	return out
}

// membersOf returns the etcd members that the API server on a control plane uses: its own, or those
// of other machines.
func (t *trust) membersOf(m *Machine) []*Machine {
	if t.commands[m]["etcd"] != nil {
		return []*Machine{m}
	}
	return t.members
}

// memberCredentials lists how the certificates of a member of etcd are used.
func (t *trust) memberCredentials(m *Machine) (out []credential) {
	etcd := func(flag string) string { return t.option(m, "etcd", flag) }
	peers := hosts(etcd("initial-advertise-peer-urls"))
	serverCA, peerCA := m.File(etcd("trusted-ca-file")), m.File(etcd("peer-trusted-ca-file"))
	for _, api := range t.controlPlanes {
		if slices.Contains(t.membersOf(api), m) {
			servers := etcd("advertise-client-urls")
			if api == m {
				servers += "," + t.option(api, "kube-apiserver", "etcd-servers")
			}
			ca := api.File(t.option(api, "kube-apiserver", "etcd-cafile"))
			out = append(out, credential{
				"etcd to API server", etcd("cert-file"), etcd("key-file"),
				ca, x509.ExtKeyUsageServerAuth, hosts(servers), identity{},
			})
		}
	}
	return append(out,
		credential{
			"etcd to itself", etcd("cert-file"), etcd("key-file"),
			serverCA, x509.ExtKeyUsageClientAuth, nil, identity{},
		},
		credential{
			"etcd as a peer's server", etcd("peer-cert-file"), etcd("peer-key-file"),
			peerCA, x509.ExtKeyUsageServerAuth, peers, identity{},
		},
		credential{
			"etcd as a peer's client", etcd("peer-cert-file"), etcd("peer-key-file"),
			peerCA, x509.ExtKeyUsageClientAuth, nil, identity{},
		},
	)
}

// apiNames are all names by which clients reach the API server of a machine: the names that pods
// use, the names that the machine itself uses, those of the control plane, and those in the
// kubeconfigs of all machines.
func (t *trust) apiNames(m *Machine) []string {
	domain := machine.Read[struct{ ClusterDomain string }](m.File(kubeletConfig)).ClusterDomain
	names := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc." + domain,
		"localhost", "127.0.0.1",
	}
	for _, prefix := range prefixes(t.option(m, "kube-apiserver", "service-cluster-ip-range")) {
		names = append(names, prefix.Masked().Addr().Next().String())
	}
	for _, other := range t.controlPlanes {
		names = append(names, other.Name, t.option(other, "kube-apiserver", "advertise-address"))
	}
	return append(names, hosts(strings.Join(t.servers, ","))...)
}

// hosts returns the hosts in a list of URLs.
func hosts(urls string) (out []string) {
	for text := range strings.SplitSeq(urls, ",") {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			out = append(out, u.Hostname())
		}
	}
	return out
}

// issued returns the time at which the documents were made: one hour after the time from which most
// leaves are valid.
func (t *trust) issued() (most time.Time) {
	count := map[time.Time]int{}
	for _, m := range t.cluster {
		for _, f := range m.Files {
			if cert, err := firstCertificate(f.Content); err == nil && !cert.IsCA {
				count[cert.NotBefore]++
				if count[cert.NotBefore] > count[most] {
					most = cert.NotBefore
				}
			}
		}
	}
	return most.Add(time.Hour)
}

func (t *trust) content(file string) []byte {
	if f := t.at.see(file); f != nil {
		return f.Content
	}
	return nil
}
