package judges

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/keyutil"
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

// credentials: every certificate verifies where it is shown, for the names by which it is known, and belongs to its key.
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
		options := x509.VerifyOptions{Roots: roots, CurrentTime: t.now, KeyUsages: []x509.ExtKeyUsage{c.usage}}
		if _, err := pair.Leaf.Verify(options); err != nil {
			t.find("%s: %s: %v", c.use, c.cert, err)
		}
		for _, name := range c.names {
			if err := pair.Leaf.VerifyHostname(strings.Trim(name, "[]")); err != nil {
				t.find("%s: %s: %v", c.use, c.cert, err)
			}
		}
		subject := pair.Leaf.Subject
		if c.who.name != "" && subject.CommonName != c.who.name || c.who.group != "" && !slices.Contains(subject.Organization, c.who.group) {
			t.find("%s: %s is for %s, want %+v", c.use, c.cert, subject, c.who)
		}
		t.lasts(c, pair.Leaf)
	}
}

// lasts: certificates last long enough to be renewed in time, and an administrator's, which nobody else has, not longer
// than a cluster takes to form.
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
	ofAPI := func(flag string) *File { return t.first().File(t.option(t.first(), "kube-apiserver", flag)) }
	clusterCA := m.File("/etc/kubernetes/pki/ca.crt")
	node := identity{"system:node:" + m.Name, "system:nodes"}

	if m.Joins() && !withToken(m) {
		config := read[struct{ TLSCertFile, TLSPrivateKeyFile string }](m.File(kubeletConfig))
		names := append(strings.Split(t.option(m, "kubelet", "node-ip"), ","), m.Name)
		ca := cmp.Or(ofAPI("kubelet-certificate-authority"), clusterCA) // which nobody looks at without the flag
		out = append(out, credential{"kubelet to API server", config.TLSCertFile, config.TLSPrivateKeyFile, ca, x509.ExtKeyUsageServerAuth, names, node})
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
			out = append(out, credential{file, user.cert, user.key, ofAPI("client-ca-file"), x509.ExtKeyUsageClientAuth, nil, who})
		}
	}
	if t.commands[m]["etcd"] != nil {
		out = append(out, t.memberCredentials(m)...)
	}
	if !m.ControlPlane() {
		return out
	}

	kubeletCA := m.File(read[struct {
		Authentication struct{ X509 struct{ ClientCAFile string } }
	}](m.File(kubeletConfig)).Authentication.X509.ClientCAFile)
	frontProxy := identity{name: api("requestheader-allowed-names")}
	out = append(out,
		credential{"API server", api("tls-cert-file"), api("tls-private-key-file"), clusterCA, x509.ExtKeyUsageServerAuth, t.apiNames(m), identity{}},
		credential{"API server to kubelet", api("kubelet-client-certificate"), api("kubelet-client-key"), kubeletCA, x509.ExtKeyUsageClientAuth, nil, identity{name: "kube-apiserver-kubelet-client"}},
		credential{"API server to extensions", api("proxy-client-cert-file"), api("proxy-client-key-file"), m.File(api("requestheader-client-ca-file")), x509.ExtKeyUsageClientAuth, nil, frontProxy},
	)
	for _, member := range t.membersOf(m) {
		serverCA := member.File(t.option(member, "etcd", "trusted-ca-file"))
		out = append(out, credential{"API server to etcd", api("etcd-certfile"), api("etcd-keyfile"), serverCA, x509.ExtKeyUsageClientAuth, nil, identity{}})
	}
	return out
}

// membersOf returns the members of etcd that the API server on a control plane uses: its own, or those of other machines.
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
			out = append(out, credential{"etcd to API server", etcd("cert-file"), etcd("key-file"), ca, x509.ExtKeyUsageServerAuth, hosts(servers), identity{}})
		}
	}
	return append(out,
		credential{"etcd to itself", etcd("cert-file"), etcd("key-file"), serverCA, x509.ExtKeyUsageClientAuth, nil, identity{}},
		credential{"etcd as a peer's server", etcd("peer-cert-file"), etcd("peer-key-file"), peerCA, x509.ExtKeyUsageServerAuth, peers, identity{}},
		credential{"etcd as a peer's client", etcd("peer-cert-file"), etcd("peer-key-file"), peerCA, x509.ExtKeyUsageClientAuth, nil, identity{}},
	)
}

// apiNames are all the names by which clients reach the API server of a machine: as pods, from the machine itself, as one
// of the control planes, and as the kubeconfigs of all machines have it.
func (t *trust) apiNames(m *Machine) []string {
	domain := read[struct{ ClusterDomain string }](m.File(kubeletConfig)).ClusterDomain
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + domain, "localhost", "127.0.0.1"}
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

// issued returns the time at which the documents were made: an hour after that from which most leaves are valid.
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

// sharedKeys are the keys that all control planes have; every other is on one machine.
var sharedKeys = []string{"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/sa.key"}

// privateKeys: every private key on a machine is used there, and is on no other; a worker has none but its kubelet's, an etcd
// machine none but its member's.
func (t *trust) privateKeys() {
	var used []string
	for _, c := range t.credentialsOf(t.at) {
		used = append(used, t.at.linkTarget(c.key))
	}
	own := slices.Clone(sharedKeys)
	if t.at.ControlPlane() {
		used = append(used, own...)
		if len(t.members) == 0 {
			external := t.option(t.at, "kube-apiserver", "etcd-keyfile")
			used, own = append(used, external), append(own, external)
		}
	}
	for _, f := range t.at.Files {
		if !bytes.Contains(f.Content, []byte("PRIVATE KEY-----")) {
			continue
		}
		if !slices.Contains(used, f.Path) {
			t.find("%s: nothing on this machine uses the private key", f.Path)
		}
		for _, other := range t.cluster {
			for _, g := range other.Files {
				if (other != t.at || g.Path != f.Path) && bytes.Equal(f.Content, g.Content) && !slices.Contains(own, f.Path) {
					t.find("%s: the private key is also %s on %s", f.Path, g.Path, other.Name)
				}
			}
		}
	}
}

// shared: what makes the machines one cluster is the same on all of them, and on no worker but the CA.
func (t *trust) shared() {
	for _, f := range t.first().Files {
		every := f.Path == "/etc/kubernetes/pki/ca.crt" && t.at.Joins()
		if !every && (!t.at.ControlPlane() || !isShared(f.Path)) {
			continue
		}
		if own := t.at.File(f.Path); own == nil || !bytes.Equal(own.Content, f.Content) {
			t.find("%s: it is not the one of %s", f.Path, t.first().Name)
		}
	}
	for _, f := range t.at.Files {
		switch {
		case !isShared(f.Path):
		case f.Path == ownEtcdCA && t.commands[t.at]["etcd"] != nil:
			if etcd := t.first().File("/etc/kubernetes/pki/etcd/ca.crt"); etcd == nil || !bytes.Equal(etcd.Content, f.Content) {
				t.find("%s: it is not the one of the API servers", f.Path)
			}
		case t.first().File(f.Path) == nil:
			t.find("%s: %s has none", f.Path, t.first().Name)
		case !t.at.ControlPlane() && f.Path != "/etc/kubernetes/pki/ca.crt":
			t.find("%s: it is for control planes", f.Path)
		}
	}
}

// ownEtcdCA is the CA of etcd on the machines of its members.
const ownEtcdCA = "/etc/etcd/pki/ca.crt"

// isShared finds what all control planes have alike.
func isShared(file string) bool {
	switch dir := path.Dir(file); {
	case slices.Contains(sharedKeys, file), dir == objectsDir, dir == "/etc/kubernetes/apiserver":
		return true
	default:
		return strings.Contains(dir, "/pki") && strings.HasSuffix(file, "ca.crt") || path.Base(file) == "sa.pub"
	}
}

// authorities: each CA is its own, so that who can mint for one is nobody for the others.
func (t *trust) authorities() {
	seen := map[string]string{}
	for _, flag := range []string{"client-ca-file", "requestheader-client-ca-file", "etcd-cafile"} {
		file := t.option(t.at, "kube-apiserver", flag)
		block, _ := pem.Decode(t.content(file))
		if block == nil {
			t.find("--%s: %s holds no certificate", flag, file)
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !cert.IsCA {
			t.find("--%s: %s is no CA", flag, file)
			continue
		}
		if other, ok := seen[string(cert.RawSubjectPublicKeyInfo)]; ok {
			t.find("--%s: %s is the CA of --%s too", flag, file, other)
		}
		seen[string(cert.RawSubjectPublicKeyInfo)] = flag
	}
	if ca, key := t.at.File("/etc/kubernetes/pki/ca.crt"), t.at.File("/etc/kubernetes/pki/ca.key"); key != nil {
		if _, err := tls.X509KeyPair(ca.Content, key.Content); err != nil {
			t.find("%s: %v", key.Path, err)
		}
	}
}

// serviceAccountKey: tokens are verified by the key that signs them.
func (t *trust) serviceAccountKey() {
	public, err := keyutil.ParsePublicKeysPEM(t.content(t.option(t.at, "kube-apiserver", "service-account-key-file")))
	if err != nil {
		t.find("--service-account-key-file: %v", err)
		return
	}
	for _, signer := range []string{t.option(t.at, "kube-apiserver", "service-account-signing-key-file"), t.option(t.at, "kube-controller-manager", "service-account-private-key-file")} {
		private, err := keyutil.ParsePrivateKeyPEM(t.content(signer))
		if err != nil {
			t.find("%s: %v", signer, err)
			continue
		}
		own := private.(crypto.Signer).Public().(interface{ Equal(crypto.PublicKey) bool })
		if !slices.ContainsFunc(public, func(key any) bool { return own.Equal(key) }) {
			t.find("%s: the API server does not know its public key", signer)
		}
	}
}

// clientConfig is what is read of a kubeconfig.
type clientConfig struct {
	server, ca       string
	cert, key, token string
}

// readKubeconfig reads a file with one cluster and one user; that the context joins them is for configurationsJudge.
func readKubeconfig(f *File) clientConfig {
	config := read[struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority"`
			}
		}
		Users []struct {
			User struct {
				Cert  string `json:"client-certificate"`
				Key   string `json:"client-key"`
				Token string
			}
		}
	}](f)
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return clientConfig{}
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	return clientConfig{cluster.Server, cluster.CA, user.Cert, user.Key, user.Token}
}

// ownKubeconfigs are the kubeconfigs in /etc/kubernetes with the flags that name them.
var ownKubeconfigs = map[string]string{
	"kubelet kubeconfig":                                "kubelet.conf",
	"kubelet bootstrap-kubeconfig":                      "bootstrap-kubelet.conf",
	"kube-controller-manager kubeconfig":                "controller-manager.conf",
	"kube-controller-manager authentication-kubeconfig": "controller-manager.conf",
	"kube-controller-manager authorization-kubeconfig":  "controller-manager.conf",
	"kube-scheduler kubeconfig":                         "scheduler.conf",
	"kube-scheduler authentication-kubeconfig":          "scheduler.conf",
	"kube-scheduler authorization-kubeconfig":           "scheduler.conf",
}

// kubeconfigs: each leads to an API server of this cluster and trusts its CA; components use their own; a token is one
// that the API server is told of.
func (t *trust) kubeconfigs() {
	for flag, name := range ownKubeconfigs {
		component, option, _ := strings.Cut(flag, " ")
		if file := t.option(t.at, component, option); file != "" && file != "/etc/kubernetes/"+name {
			t.find("%s --%s is %s, want /etc/kubernetes/%s", component, option, file, name)
		}
	}
	for _, f := range t.at.Under("/etc/kubernetes") {
		if path.Ext(f.Path) != ".conf" {
			continue
		}
		k := readKubeconfig(f)
		if k.server == "" {
			t.find("%s: it does not have one cluster and one user", f.Path)
			continue
		}
		if ca := t.at.File(k.ca); ca == nil || !bytes.Equal(ca.Content, t.first().File("/etc/kubernetes/pki/ca.crt").Content) {
			t.find("%s: %s is not the cluster's CA", f.Path, k.ca)
		}
		if k.token != "" && !t.knows(k.token) {
			t.find("%s: the API server does not know the token", f.Path)
		}
		t.checkServer(f.Path, k.server)
	}
}

// checkServer holds a URL to be that of a control plane's own address, that of the machine's own balancer, or the one endpoint
// that all other machines have.
func (t *trust) checkServer(by, server string) {
	if loopback(server) {
		t.checkLoopback(by, server)
		return
	}
	for _, m := range t.controlPlanes {
		if !t.leadsTo(m, server) {
			continue
		}
		if own := "https://" + net.JoinHostPort(t.option(m, "kube-apiserver", "advertise-address"), t.option(m, "kube-apiserver", "secure-port")); server != own {
			t.find("%s: the server is %s, want %s", by, server, own)
		} else if t.at.ControlPlane() && m != t.at {
			t.find("%s: the server is another control plane, %s", by, server)
		}
		return
	}
	for _, other := range t.endpoints() {
		if server != other {
			t.find("%s: the server is %s, elsewhere it is %s", by, server, other)
		}
	}
}

// leadsTo says whether a URL leads to a control plane itself.
func (t *trust) leadsTo(m *Machine, server string) bool {
	return slices.Contains(hosts(server), t.option(m, "kube-apiserver", "advertise-address"))
}

// apiServers returns the servers in all kubeconfigs.
func (t *trust) apiServers() (out []string) {
	for _, m := range t.cluster {
		for _, f := range m.Under("/etc/kubernetes") {
			if path.Ext(f.Path) == ".conf" {
				out = append(out, readKubeconfig(f).server)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// endpoints returns those of them that are no control plane's own address and no machine's own balancer.
func (t *trust) endpoints() []string {
	return slices.DeleteFunc(slices.Clone(t.servers), func(server string) bool {
		return loopback(server) || slices.ContainsFunc(t.controlPlanes, func(m *Machine) bool { return t.leadsTo(m, server) })
	})
}
