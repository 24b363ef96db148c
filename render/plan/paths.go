package plan

import (
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
