package plan

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
	// Network is the unit of the program that configures the interfaces, Networkd or NetworkManager. An image may have
	// another; what kiln tells this one is then read by nobody.
	Network string
}

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
	{Name: "flatcar", Format: Ignition, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, debianCertificate}, ContainerdEnv: true, Extensions: true, ReadOnlyUsr: true},
	{Name: "fedora-coreos", Format: Ignition, Network: NetworkManager, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate}, ReadOnlyUsr: true},
	{Name: "microos", Format: Ignition, Network: NetworkManager, Login: "root", ResolvConf: etcResolvConf, CADirs: []string{etcSSLCerts, suseTrust, "/var/lib/ca-certificates"}, ReadOnlyUsr: true},
	{Name: "ubuntu", Format: CloudInit, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, "/etc/ca-certificates", debianAnchors, debianCertificate}},
	{Name: "debian", Format: CloudInit, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, "/etc/ca-certificates", debianAnchors, debianCertificate}},
	{Name: "rhel", Format: CloudInit, Network: NetworkManager, ResolvConf: etcResolvConf, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate}},
	{Name: "amazon-linux", Format: CloudInit, Network: Networkd, ResolvConf: resolvedResolver, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate}},
}

func system(name string) System {
	for _, s := range systems {
		if s.Name == name {
			return s
		}
	}
	return System{}
}

// Platform is what the place where a machine runs decides about its document.
type Platform struct {
	Name string
	// Limit is the largest document in bytes, as delivered; 0 means that no limit is known or there is none.
	Limit int
	// TextOnly says that the document must be text: a compressed cloud-init document cannot be delivered.
	TextOnly bool
	// NoCloud says that meta-data and network-config are delivered beside the user-data.
	NoCloud bool
	// Metadata are the addresses at which any process on the machine can read the document; none if it arrives otherwise.
	// Link-local IPv6 addresses are left out: nothing forwards to them.
	Metadata []string
}

// linkLocal is where nearly all platforms have their metadata service.
const linkLocal = "169.254.169.254"

// platforms is the table of platforms; limits are those of the vendors' API documentation of August 2026, counted on
// the document before the platform's own base64. Where the vendor counts base64, Limit is three quarters of it.
var platforms = []Platform{
	{Name: "akamai", Metadata: []string{linkLocal}},
	{Name: "aws", Limit: 16384, Metadata: []string{linkLocal, "fd00:ec2::254"}},
	{Name: "azure", Limit: 65535, Metadata: []string{linkLocal}},
	{Name: "digitalocean", Limit: 65536, TextOnly: true, Metadata: []string{linkLocal}},
	{Name: "exoscale", Metadata: []string{linkLocal}},
	{Name: "gcp", Limit: 262144, TextOnly: true, Metadata: []string{linkLocal, "fd20:ce::254"}},
	{Name: "hetzner", Limit: 32768, TextOnly: true, Metadata: []string{linkLocal}},
	{Name: "hyperv"},
	{Name: "kubevirt"},
	{Name: "libvirt", NoCloud: true},
	{Name: "metal", NoCloud: true},
	{Name: "nocloud", NoCloud: true},
	{Name: "openstack", Limit: 49149, Metadata: []string{linkLocal}},
	{Name: "oracle", Limit: 23500, Metadata: []string{linkLocal, "fd00:c1::a9fe:a9fe"}},
	{Name: "proxmox", NoCloud: true},
	{Name: "qemu", NoCloud: true},
	{Name: "scaleway", Metadata: []string{"169.254.42.42", "fd00:42::42"}},
	{Name: "vsphere", Limit: 65536},
	{Name: "vultr", Metadata: []string{linkLocal}},
}

func platform(name string) Platform {
	for _, p := range platforms {
		if p.Name == name {
			return p
		}
	}
	return Platform{Name: name}
}
