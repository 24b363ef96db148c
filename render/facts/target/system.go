package target

import (
	"slices"
	"strconv"
	"strings"
)

// Format is the form of a machine's boot document.
type Format string

// The formats.
const (
	Ignition  Format = "ignition"
	CloudInit Format = "cloud-init"
)

// The programs that configure network interfaces, by their units.
const (
	Networkd       = "systemd-networkd.service"
	NetworkManager = "NetworkManager.service"
)

// Modes of SELinux as the image of an operating system comes; empty for a system without it.
const (
	Enforcing  = "enforcing"
	Permissive = "permissive"
)

// System is an operating system.
type System struct {
	// Name is the value of machines.os.
	Name   string
	Format Format
	// Versions are the known versions, oldest first; none for a system that replaces itself by
	// newer ones.
	Versions []Version
	// Login is the user who receives the ssh keys; empty is the image's default user.
	Login string
	// ResolvConf is the resolver configuration without the local stub. With systemd-resolved,
	// /etc/resolv.conf names 127.0.0.53 and sends CoreDNS into a loop (kubeadm#273).
	ResolvConf string
	// CADirs are the folders of trusted certificates that the API server and the
	// controller-manager mount. Several systems fill /etc/ssl/certs with links into the others.
	// No folder below a read-only /usr may be created.
	CADirs []string
	// ContainerdEnv reports whether containerd reads the path of its configuration from an
	// environment variable instead of using /etc.
	ContainerdEnv bool
	// Hides are drop-ins of extensions and packages with Kubernetes that start the kubelet by
	// themselves, or with other flags than kiln's. {minor} is the kubelet's, such as 1.36.
	Hides []string
	// ReadOnlyUsr reports whether nothing can be written below /usr, except below a folder in
	// Writable.
	ReadOnlyUsr bool
	// Writable lists the folders in which Ignition can write files, on a system with a read-only
	// root; empty if the root can be written.
	Writable []string
	// Etcd is the user etcd, as whom the pod of an etcd member runs.
	Etcd Account
	// Network is the program that configures the interfaces, Networkd or NetworkManager. An image
	// may have another one, which does not read what kiln writes for this one.
	Network string
	// Netplan reports whether cloud-init hands its network configuration to netplan unchanged.
	// Elsewhere cloud-init translates it, and its versions up to 22.4 drop metrics and take ::/0
	// for ::/64 (cloudinit/net/network_state.py).
	Netplan bool
	// SELinux is Enforcing, Permissive or empty.
	SELinux string
	// Dash reports whether sh is dash, which knows no more than POSIX. Elsewhere it is bash.
	Dash bool
	// CloudSetup reports whether the image may bring nm-cloud-setup, whose routing rules cut pods
	// off (rancher/rke2#1053).
	CloudSetup bool
	// Firewalld reports whether the image may bring firewalld.
	Firewalld bool
	// TimeServices are the programs that may set the clock. One of them does on each machine.
	TimeServices []TimeService
	// Trust says where the system reads further CAs from.
	Trust Trust
	// Updater is what updates the system by itself.
	Updater Updater
	// Packages says how it installs packages; nil if /usr cannot be written, or if it has no
	// package of containerd.
	Packages *Packages
	// NetBoot is how the system boots over the network; nil if kiln has no way.
	NetBoot *NetBoot
	// Medium is what the system's own provider of Ignition reads on a platform for which there is
	// no image of the system (Platform.NoSUSEImage); nil if the system has no such provider.
	Medium *Medium
}

// Account is a user and a group of the same name.
type Account struct {
	UID, GID int
	// Image reports whether they come with the image. Ignition cannot make or change such a user:
	// it is in a second user database below /usr, where Ignition's lookup finds it and usermod and
	// groupmod do not (coreos/ignition#1596). An account that is not the image's is made by the
	// document.
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

// EtcdUserID is that of user and group etcd where documents make them, fixed for pods to name.
const EtcdUserID = 2379

// Users etcd.
var (
	madeEtcd = Account{UID: EtcdUserID, GID: EtcdUserID}
	// flatcar/baselayout: baselayout/passwd
	flatcarEtcd = Account{UID: 232, GID: 232, Image: true}
	// coreos/fedora-coreos-config: manifests/passwd, sysusers.d/00-coreos-static.conf
	fedoraEtcd = Account{UID: 998, GID: 997, Image: true}
)

// Paths that several systems have.
const (
	etcResolvConf     = "/etc/resolv.conf"
	resolvedConf      = "/run/systemd/resolve/resolv.conf"
	etcSSLCerts       = "/etc/ssl/certs"
	redHatTrust       = "/etc/pki/ca-trust" // private keys lie beside it, so not /etc/pki
	redHatCertificate = "/etc/pki/tls/certs"
	suseTrust         = "/etc/pki/trust"
	suseCertificate   = "/var/lib/ca-certificates"
	debianAnchors     = "/usr/local/share/ca-certificates"
	debianCertificate = "/usr/share/ca-certificates"
	debianTrust       = "/etc/ca-certificates"
)

// Systems is the table of operating systems, from their own documentation of August 2026.
var Systems = []System{
	{
		Name: "flatcar", Format: Ignition, Etcd: flatcarEtcd, Network: Networkd,
		ResolvConf: resolvedConf, CADirs: []string{etcSSLCerts, debianCertificate},
		ContainerdEnv: true, ReadOnlyUsr: true, SELinux: Permissive,
		Hides: []string{"multi-user.target.d/10-kubelet-service.conf"},
		// On AWS and GCP ntpd is enabled instead of timesyncd, and chrony on Azure
		// (flatcar/scripts#1792).
		TimeServices: []TimeService{timesyncd, ntpd, flatcarChrony},
		Trust:        inFlatcar, Updater: UpdateEngine,
		NetBoot: &NetBoot{
			Kernel: "flatcar_production_pxe.vmlinuz",
			Initrd: "flatcar_production_pxe_image.cpio.gz",
			Args:   []string{"flatcar.first_boot=1"},
			Config: "usr/share/oem/config.ign",
			// flatcar-install knows no other name.
			Installer: FlatcarInstaller, DiskImage: "flatcar_production_image.bin.bz2",
		},
	}, {
		Name: "fedora-coreos", Format: Ignition, Etcd: fedoraEtcd, Network: NetworkManager,
		ResolvConf: resolvedConf, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate},
		ReadOnlyUsr: true, SELinux: Enforcing,
		TimeServices: []TimeService{chronyd}, Trust: inRedHat, Updater: Zincati,
		Hides: []string{
			"kubelet.service.d/kubeadm.conf",
			"multi-user.target.d/10-kubernetes-{minor}-sysext.conf",
		},
		Writable: []string{
			"/etc", "/home", "/mnt", "/opt", "/root", "/srv", "/usr/local", "/var",
		},
		NetBoot: &NetBoot{
			Kernel: "live-kernel", Initrd: "live-initramfs.img", RootFS: "live-rootfs.img",
			Args:   []string{"ignition.firstboot"},
			Config: "config.ign", Installer: CoreOSInstaller,
		},
	}, {
		// Its images for PXE write themselves to the disk and ask for Ignition at the next boot,
		// from a disk (kiln iso), so there is no NetBoot.
		Name: "microos", Format: Ignition, Etcd: madeEtcd, Network: NetworkManager, Login: "root",
		ResolvConf: etcResolvConf, CADirs: []string{etcSSLCerts, suseTrust, suseCertificate},
		ReadOnlyUsr: true, SELinux: Enforcing, Medium: &suse,
		TimeServices: []TimeService{chronyd}, Trust: inSUSE,
		Updater:  TransactionalUpdate,
		Writable: []string{"/etc", "/home", "/opt", "/root", "/srv", "/usr/local", "/var"},
	}, {
		Name: "ubuntu", Format: CloudInit, Etcd: madeEtcd, Network: Networkd, Netplan: true,
		Versions:   ubuntuVersions,
		ResolvConf: resolvedConf, Dash: true,
		CADirs:       []string{etcSSLCerts, debianTrust, debianAnchors, debianCertificate},
		TimeServices: []TimeService{timesyncd, debianChrony}, Trust: inDebian,
		Updater: UnattendedUpgrades, Packages: &Packages{APT, "containerd"},
		NetBoot: &NetBoot{Kernel: "vmlinuz", Initrd: "initrd", Seed: "nocloud"},
	}, {
		Name: "debian", Format: CloudInit, Etcd: madeEtcd, Network: Networkd, Netplan: true,
		Versions:   debianVersions,
		ResolvConf: resolvedConf, Dash: true,
		CADirs:       []string{etcSSLCerts, debianTrust, debianAnchors, debianCertificate},
		TimeServices: []TimeService{timesyncd, debianChrony}, Trust: inDebian,
		Updater: UnattendedUpgrades, Packages: &Packages{APT, "containerd"},
		NetBoot: &NetBoot{Kernel: "vmlinuz", Initrd: "initrd", Seed: "nocloud-net"},
	}, redHat("rhel"), redHat("rocky"), redHat("alma"), {
		Name: "amazon-linux", Format: CloudInit, Etcd: madeEtcd, Network: Networkd,
		Versions:   amazonVersions,
		ResolvConf: resolvedConf, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate},
		SELinux: Permissive, TimeServices: []TimeService{chronyd}, Trust: inRedHat,
		Updater: DNFAutomatic, Packages: &Packages{DNF, "containerd"},
		NetBoot: &NetBoot{Kernel: "vmlinuz", Initrd: "initrd", Seed: "nocloud-net"},
	},
}

// redHat returns the row of RHEL under its own name, or under that of a system that is built from
// the same packages.
func redHat(name string) System {
	return System{
		Name: name, Format: CloudInit, Etcd: madeEtcd, Network: NetworkManager,
		Versions:   redHatVersions,
		ResolvConf: etcResolvConf, CADirs: []string{etcSSLCerts, redHatTrust, redHatCertificate},
		SELinux: Enforcing, CloudSetup: true, Firewalld: true, Updater: DNFAutomatic,
		TimeServices: []TimeService{chronyd}, Trust: inRedHat,
		NetBoot: &NetBoot{Kernel: "vmlinuz", Initrd: "initrd", Seed: "nocloud-net"},
	}
}

// SystemNamed returns the operating system with that name, and whether the table has it.
func SystemNamed(name string) (s System, ok bool) {
	i := slices.IndexFunc(Systems, func(s System) bool { return s.Name == name })
	if i < 0 {
		return System{}, false
	}
	return Systems[i], true
}

// SystemNames returns those for which want is true, or all with nil, in the order of the table.
func SystemNames(want func(*System) bool) (names []string) {
	for i := range Systems {
		if want == nil || want(&Systems[i]) {
			names = append(names, Systems[i].Name)
		}
	}
	return names
}

// CanWrite reports whether the first boot can write a file there. If not, no machine starts.
func (s *System) CanWrite(path string) bool {
	if len(s.Writable) > 0 {
		below := func(folder string) bool { return strings.HasPrefix(path, folder+"/") }
		return slices.ContainsFunc(s.Writable, below)
	}
	return !s.ReadOnlyUsr || !strings.HasPrefix(path, "/usr/")
}

// Updater is the program that installs a system's updates by itself.
type Updater string

// The updaters.
const (
	UpdateEngine        Updater = "update-engine"        // locksmith reboots
	Zincati             Updater = "zincati"              // reboots itself
	TransactionalUpdate Updater = "transactional-update" // rebootmgr reboots
	UnattendedUpgrades  Updater = "unattended-upgrades"  // reboots if it is told to
	DNFAutomatic        Updater = "dnf-automatic"        // a package that no image has
)

// Packages says how a system installs packages.
type Packages struct {
	// Manager is APT or DNF.
	Manager string
	// Runtime is the system's own package with containerd, which brings runc.
	Runtime string
}

// The programs that install packages.
const (
	APT = "apt-get"
	DNF = "dnf"
)

// Repository returns the URL of the packages of Kubernetes for a minor, such as 1.36. It ends with
// a slash. See https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/
// change-package-repository/.
func (p *Packages) Repository(minor string) string {
	form := map[string]string{APT: "deb", DNF: "rpm"}[p.Manager]
	return "https://pkgs.k8s.io/core:/stable:/v" + minor + "/" + form + "/"
}

// PackagedSystems returns the names of the operating systems whose packages kiln can install.
func PackagedSystems() []string {
	return SystemNames(func(s *System) bool { return s.Packages != nil })
}

// PackagesUnit installs the packages of a machine when the hook starts it.
const PackagesUnit = "kiln-packages.service"
