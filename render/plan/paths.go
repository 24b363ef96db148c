package plan

import (
	"fmt"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// Paths on a machine; kubeadm's names, so that tools and people find them.
const (
	KubernetesDir = "/etc/kubernetes"
	ManifestsDir  = "/etc/kubernetes/manifests"
	PKIDir        = "/etc/kubernetes/pki"
	// EtcdPKIDir holds what only etcd reads, owned by its user. Everything below PKIDir is root's
	// (CIS 1.1.19).
	EtcdPKIDir = "/etc/etcd/pki"
	EtcdData   = "/var/lib/etcd"
	KubeletDir = "/var/lib/kubelet"
	KilnDir    = "/etc/kiln"
	// ObjectsDir holds the API objects; paths of files in it begin with it.
	ObjectsDir = KilnDir + "/objects/"
	UnitDir    = "/etc/systemd/system"

	// AnnounceCA is the CA of the server that the machine announces its state to, if that is
	// neither one that the system trusts nor CACert.
	AnnounceCA = KilnDir + "/announce.crt"

	CACert = PKIDir + "/ca.crt"
	CAKey  = PKIDir + "/ca.key"
	// CASigning is the certificate that belongs to CAKey. CACert holds every CA that is trusted,
	// and the controller-manager signs with one (kubeadm#1350).
	CASigning      = PKIDir + "/ca-signing.crt"
	FrontProxyCA   = PKIDir + "/front-proxy-ca.crt"
	EtcdCA         = PKIDir + "/etcd/ca.crt"
	EtcdOwnCA      = EtcdPKIDir + "/ca.crt"
	ServiceKey     = PKIDir + "/sa.key"
	ServicePub     = PKIDir + "/sa.pub"
	KubeletConfig  = KubeletDir + "/config.yaml"
	KubeletConf    = KubernetesDir + "/kubelet.conf"
	BootstrapConf  = KubernetesDir + "/bootstrap-kubelet.conf"
	ManagerConf    = KubernetesDir + "/controller-manager.conf"
	SchedulerConf  = KubernetesDir + "/scheduler.conf"
	AdminConf      = KubernetesDir + "/admin.conf"
	ProxyConf      = KubernetesDir + "/proxy.conf"
	VIPConf        = KubernetesDir + "/kube-vip.conf"
	BalancerConf   = KubernetesDir + "/haproxy.cfg"
	KubeletPKI     = KubeletDir + "/pki"
	KubeletCurrent = KubeletPKI + "/kubelet-client-current.pem"
	KubeletDropIn  = UnitDir + "/kubelet.service.d/10-kubeadm.conf"
	CRISocket      = "/run/containerd/containerd.sock"
)

// Paths of the container runtime and of the pods' network. The folders of CNI are containerd's
// defaults.
const (
	ContainerdConfig = "/etc/containerd/config.toml"
	RegistriesDir    = "/etc/containerd/certs.d"
	CNIConfDir       = "/etc/cni/net.d"

	// LoginsProgram tells the kubelet the logins of registries. It lies where programs may be
	// started: on some systems none may from /etc.
	LoginsProgram = "kiln-registries"
	LoginsTeller  = target.BinDir + "/" + LoginsProgram
	LoginsConfig  = KilnDir + "/registries.yaml"
	Logins        = KilnDir + "/registries.json"

	// PreloadList has the images that a machine gets before its kubelet starts.
	PreloadList = KilnDir + "/preload"

	// LeasesLock is a file of the plugin host-local with cni flannel.
	LeasesLock = "/var/lib/cni/networks/cbr0/lock"

	WallUnit = "kiln-wall.service" // keeps pods from the metadata service
)

// RegistryFile returns the path of a file that is about one registry.
func RegistryFile(r *config.Registry, name string) string {
	return RegistriesDir + "/" + r.Host + "/" + name
}

// EtcdUser is the name of etcd's own user and group on the machines with a member (CIS 1.1.12).
const EtcdUser = "etcd"

// Cert returns the paths of the certificate and key named base under PKIDir.
func Cert(base string) (crt, key string) {
	return PKIDir + "/" + base + ".crt", PKIDir + "/" + base + ".key"
}

// How the names of files with the Secret of a bootstrap token begin, after the number and the kind
// of the object. The name of the pool follows. A pool whose token was renewed has a Secret more:
// that of its previous token.
const (
	TokenFile         = "bootstrap-token-"
	PreviousTokenFile = "previous-bootstrap-token-"
)

// ManifestPath returns the path on a machine of the static pod of that name.
func ManifestPath(name string) string { return ManifestsDir + "/" + name + ".yaml" }

// Origin is the source of a value: a field, a part of kiln, or one that follows a field.
type Origin struct {
	// Field is the path of the field, as in messages. A field that is absent from the configuration
	// has its default.
	Field string
	By    string // the part of kiln; empty if the field alone decides
}

// The parts of kiln that follow no field of the configuration.
var (
	Base = Origin{By: "base manifest of kiln"}
	Kiln = Origin{By: "kiln"}
)

// ByRelease is the origin of what differs between the minors of Kubernetes.
func (p *Plan) ByRelease() Origin {
	by := fmt.Sprintf("release table of Kubernetes 1.%d", p.Release.Minor)
	return Origin{Field: "kubernetesVersion", By: by}
}

// ByProfile is the origin of what the security profile sets.
func (p *Plan) ByProfile() Origin {
	profile := p.Config.Spec.Security.Profile
	return Origin{Field: "security.profile", By: "security profile " + profile}
}

// BySystem is the origin of what differs between operating systems. own reports whether the
// machine's profile sets it.
func (m *Machine) BySystem(own bool) Origin {
	if own {
		return Origin{Field: m.Settings.Path("profile")}
	}
	return Origin{Field: m.Settings.Path("os"), By: "operating system " + m.System.Name}
}

// ByAddresses is the origin of what follows from the machine's own addresses.
func (m *Machine) ByAddresses() Origin { return Origin{Field: m.Path + ".addresses"} }
