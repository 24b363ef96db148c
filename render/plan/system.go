package plan

import "strconv"

// Format is the form of a machine's boot document.
type Format string

// The formats.
const (
	Ignition  Format = "ignition"
	CloudInit Format = "cloud-init"
)

// System is what an operating system decides about its machines.
type System struct {
	Name   string
	Format Format
	// Login is the user who receives the ssh keys; empty is the image's default user.
	Login string
	// ResolvConf is the resolver configuration without the local stub: with systemd-resolved, /etc/resolv.conf names
	// 127.0.0.53 and sends CoreDNS into a loop (kubeadm#273).
	ResolvConf string
	// CADirs are the folders of trusted certificates that the API server and the controller-manager mount. Several
	// systems fill /etc/ssl/certs with links into the others. None under a read-only /usr may be created.
	CADirs []string
	// ContainerdEnv says that containerd reads its configuration's path from an environment variable instead of /etc.
	ContainerdEnv bool
	// Extensions says that Kubernetes may come as a system extension that starts the kubelet by itself.
	Extensions bool
	// ReadOnlyUsr says that nothing can be written under /usr.
	ReadOnlyUsr bool
	// Etcd is the user etcd, as whom the pod of a member runs.
	Etcd Account
	// Network is the unit of the program that configures the interfaces, Networkd or NetworkManager. An image may have
	// another; what kiln tells this one is then read by nobody.
	Network string
}

// Account is a user and a group of the same name.
type Account struct {
	UID, GID int
	// Image says that they come with the image. Ignition cannot make or change them: they are in a
	// second user database below /usr, where its lookup finds them and usermod and groupmod do not
	// (coreos/ignition#1596). Where they do not come with it, the document makes them.
	Image bool
}

// Owner returns a as the owner of files in a document: by number if the account is the image's, so
// that nothing has to be looked up, and by name if the document makes it.
func (a Account) Owner(name string) (user, group string) {
	if a.Image {
		return strconv.Itoa(a.UID), strconv.Itoa(a.GID)
	}
	return name, name
}

var (
	ownEtcd     = Account{UID: EtcdUserID, GID: EtcdUserID}
	flatcarEtcd = Account{UID: 232, GID: 232, Image: true} // flatcar/baselayout: baselayout/passwd
	fedoraEtcd  = Account{UID: 998, GID: 997, Image: true} // coreos/fedora-coreos-config: manifests/passwd, sysusers.d/00-coreos-static.conf
)

// The programs that configure interfaces.
const (
	Networkd       = "systemd-networkd.service"
	NetworkManager = "NetworkManager.service"
)

const (
	etcResolvConf     = "/etc/resolv.conf"
	resolvedResolver  = "/run/systemd/resolve/resolv.conf"
	etcSSLCerts       = "/etc/ssl/certs"
	redHatTrust       = "/etc/pki/ca-trust" // beside them lie private keys
	redHatCertificate = "/etc/pki/tls/certs"
	suseTrust         = "/etc/pki/trust"
	debianAnchors     = "/usr/local/share/ca-certificates"
	debianCertificate = "/usr/share/ca-certificates"
)

// systems is the table of operating systems (reference: the systems' documentation of August 2026).
var systems = []System{
	{Name: "flatcar", Format: Ignition, Etcd: flatcarEtcd, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, debianCertificate}, ContainerdEnv: true, Extensions: true, ReadOnlyUsr: true},
	{Name: "fedora-coreos", Format: Ignition, Etcd: fedoraEtcd, Network: NetworkManager, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate}, ReadOnlyUsr: true},
	{Name: "microos", Format: Ignition, Etcd: ownEtcd, Network: NetworkManager, Login: "root", ResolvConf: etcResolvConf, CADirs: []string{etcSSLCerts, suseTrust, "/var/lib/ca-certificates"}, ReadOnlyUsr: true},
	{Name: "ubuntu", Format: CloudInit, Etcd: ownEtcd, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, "/etc/ca-certificates", debianAnchors, debianCertificate}},
	{Name: "debian", Format: CloudInit, Etcd: ownEtcd, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, "/etc/ca-certificates", debianAnchors, debianCertificate}},
	{Name: "rhel", Format: CloudInit, Etcd: ownEtcd, Network: NetworkManager, ResolvConf: etcResolvConf, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate}},
	{Name: "amazon-linux", Format: CloudInit, Etcd: ownEtcd, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate}},
}

func system(name string) System {
	for _, s := range systems {
		if s.Name == name {
			return s
		}
	}
	return System{}
}
