package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"time"

	"kiln.dev/kiln/render/plan"
)

// Signer names the CA that signs a certificate.
type Signer int

// The CAs.
const (
	CA Signer = iota
	EtcdCA
	FrontProxyCA
)

// Spec describes one leaf certificate.
type Spec struct {
	Name          string // of the secret, unique in the cluster: "apiserver/cp-1"
	Base          string // what the certificate is for: "apiserver"
	Signer        Signer
	CommonName    string
	Organizations []string
	Usages        []x509.ExtKeyUsage
	Names         plan.Names
	NotBefore     time.Time
	NotAfter      time.Time

	// Paths on the machine, and the owner; the kubelet's client certificate has one file for both.
	CertPath, KeyPath string
	Owner             string
}

// Leaf returns the certificate without what its CA and its key add.
func (s *Spec) Leaf() *x509.Certificate {
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: s.CommonName, Organization: s.Organizations},
		NotBefore: s.NotBefore, NotAfter: s.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: s.Usages,
		BasicConstraintsValid: true,
		DNSNames:              s.Names.DNS,
		PublicKeyAlgorithm:    x509.ECDSA,
	}
	for _, ip := range s.Names.IPs {
		c.IPAddresses = append(c.IPAddresses, net.IP(ip.AsSlice()))
	}
	return c
}

var (
	server = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	client = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	// etcd dials itself with its serving certificate, and its members are clients of each other.
	both = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
)

// kubeletClientFile is the path of the kubelet's first client certificate. Its name is like those
// that the kubelet's certificate store makes.
const kubeletClientFile = plan.KubeletPKI + "/kubelet-client-kiln.pem"

// row is one line of the certificate table.
type row struct {
	base   string // also the file's name, under PKIDir unless path names another folder
	signer Signer
	cn     string
	org    []string
	usages []x509.ExtKeyUsage
	names  func(p *plan.Plan, m *plan.Machine) plan.Names
	who    func(p *plan.Plan, m *plan.Machine) bool
	path   string
	owner  string
	// install is true for the credential that ends with InstallEnd.
	install bool
}

// table holds every leaf certificate of every machine; docs/kubeadm.md says where it differs from
// kubeadm's. kubeadm's etcd/healthcheck-client is left out, because nothing uses it: etcd's health
// is read on its plain metrics port. {node} stands for the machine's name.
var table = []row{
	{base: "apiserver", signer: CA, cn: "kube-apiserver", usages: server, who: controlPlane,
		names: func(p *plan.Plan, _ *plan.Machine) plan.Names { return p.APIServerNames() }},
	{base: "apiserver-kubelet-client", signer: CA, cn: "kube-apiserver-kubelet-client",
		usages: client, who: controlPlane},
	{base: "apiserver-etcd-client", signer: EtcdCA, cn: "kube-apiserver-etcd-client",
		usages: client, who: etcdClient},
	{base: "front-proxy-client", signer: FrontProxyCA, cn: "front-proxy-client",
		usages: client, who: controlPlane},
	{base: "controller-manager", signer: CA, cn: "system:kube-controller-manager",
		usages: client, who: controlPlane},
	{base: "scheduler", signer: CA, cn: "system:kube-scheduler", usages: client, who: controlPlane},
	// It may create one Lease, read it and update it (manifests/objects/kube-vip.yaml). With a
	// credential of its own it needs neither admin.conf, which the first boot removes, nor a
	// super-admin.conf for the time before there is RBAC (kube-vip#684).
	{base: "kube-vip", signer: CA, cn: "kube-vip", usages: client, who: vipCarrier},
	{base: InstallBase, signer: CA, cn: "kiln:install", org: []string{MastersGroup},
		usages: client, who: controlPlane, install: true},
	{base: "etcd-server", signer: EtcdCA, cn: node, usages: both, who: etcdMember,
		path: plan.EtcdPKIDir + "/server", owner: plan.EtcdUser,
		names: func(_ *plan.Plan, m *plan.Machine) plan.Names { return m.EtcdNames() }},
	{base: "etcd-peer", signer: EtcdCA, cn: node, usages: both, who: etcdMember,
		path: plan.EtcdPKIDir + "/peer", owner: plan.EtcdUser,
		names: func(_ *plan.Plan, m *plan.Machine) plan.Names { return m.EtcdNames() }},
	{base: "kubelet-client", signer: CA, cn: "system:node:" + node, org: []string{"system:nodes"},
		usages: client, who: hasKubeletCertificates, path: kubeletClientFile},
	{base: "kubelet-server", signer: CA, cn: "system:node:" + node, org: []string{"system:nodes"},
		usages: server, who: hasKubeletCertificates, path: plan.KubeletPKI + "/kubelet",
		names: func(_ *plan.Plan, m *plan.Machine) plan.Names { return m.KubeletNames() }},
}

const node = "{node}"

func controlPlane(_ *plan.Plan, m *plan.Machine) bool { return m.ControlPlane() }

func etcdMember(_ *plan.Plan, m *plan.Machine) bool { return m.EtcdMember }

// etcdClient reports whether m has an API server that is a client of kiln's etcd members.
func etcdClient(p *plan.Plan, m *plan.Machine) bool {
	return m.ControlPlane() && len(p.EtcdMembers) > 0
}

func vipCarrier(p *plan.Plan, m *plan.Machine) bool { return p.HasVIP(m) }

// hasKubeletCertificates reports whether m's document has the certificates of its kubelet.
func hasKubeletCertificates(_ *plan.Plan, m *plan.Machine) bool { return m.Joins() && !m.Pool }

// Specs returns the leaf certificates of m, in the table's order.
func (b *Public) Specs(p *plan.Plan, m *plan.Machine) []Spec {
	return b.specs(p, m, b.HasInstall(m.Name))
}

// SpecsAt is Specs with the certificates that m needs at the time now, signed or not.
func (b *Public) SpecsAt(p *plan.Plan, m *plan.Machine, now time.Time) []Spec {
	return b.specs(p, m, b.NeedsInstall(now))
}

func (b *Public) specs(p *plan.Plan, m *plan.Machine, install bool) []Spec {
	from, until := b.lifetime(p, m.Name)
	specs := make([]Spec, 0, 2) // those of a worker
	for i := range table {
		r := &table[i]
		if !r.who(p, m) || r.install && !install {
			continue
		}
		s := Spec{
			Name: r.base + "/" + m.Name, Base: r.base, Signer: r.signer,
			CommonName: expand(r.cn, m.Name), Organizations: slices.Clone(r.org), Usages: r.usages,
			NotBefore: from, NotAfter: until, Owner: r.owner,
		}
		if r.install { // no renewal moves its dates
			s.NotBefore, s.NotAfter = b.Issued.Add(-leafBackdate), b.InstallEnd()
		}
		if r.names != nil {
			s.Names = r.names(p, m)
		}
		switch r.path {
		case "":
			s.CertPath, s.KeyPath = plan.Cert(r.base)
		case kubeletClientFile:
			s.CertPath, s.KeyPath = r.path, r.path
		default:
			s.CertPath, s.KeyPath = r.path+".crt", r.path+".key"
		}
		specs = append(specs, b.dated(s))
	}
	return specs
}

// AdminSpec returns the operator's client certificate, which is on no machine. Its group gets its
// rights from a binding that can be deleted, unlike those of system:masters.
func (b *Public) AdminSpec(p *plan.Plan) Spec {
	from, until := b.lifetime(p, "")
	return b.dated(Spec{
		Name: adminName, Base: adminName, Signer: CA, CommonName: adminCN,
		Organizations: []string{AdminGroup}, Usages: client, NotBefore: from, NotAfter: until,
	})
}

// ServeSpec returns the certificate of kiln serve, which hands out documents under these names
// until that time. Its key exists in that process alone.
func (b *Public) ServeSpec(names plan.Names, until time.Time) Spec {
	return Spec{
		Name: serveName, Base: serveName, Signer: CA, CommonName: "kiln-serve",
		Usages: server, Names: names, NotBefore: b.Issued.Add(-leafBackdate), NotAfter: until,
	}
}

// InstallBase is the base of the credential that only the first boot uses.
const InstallBase = "install"

// Names of the leaf certificates that are on no machine.
const (
	adminName = "admin"
	serveName = "serve"
)

// MastersGroup is the group that may do everything. The API server asks no binding about it, so
// that no rights can be taken away from it.
const MastersGroup = "system:masters"

// adminCN is the user of the operator's certificate.
const adminCN = "kubernetes-admin"

// AdminGroup is the group of the operator's certificate. An API object binds it to cluster-admin.
const AdminGroup = "kubeadm:cluster-admins"

func expand(text, name string) string {
	if i := len(text) - len(node); i >= 0 && text[i:] == node {
		return text[:i] + name
	}
	return text
}
