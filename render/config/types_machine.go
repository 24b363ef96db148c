package config

import "kiln.dev/kiln/render/facts/target"

// Machine holds the settings that every layer may have: machines (all machines),
// controlPlane.machines, controlPlane.etcd.machines and workers.machines (the machines of a role),
// and each node or pool.
type Machine struct {
	// OS is the operating system of the machine. It decides the format of the document (Ignition
	// for flatcar, fedora-coreos and microos, cloud-init for the others) and where files go.
	OS string `json:"os,omitempty" table:"systems"`
	// OSVersion is the version of the operating system. With it, kiln refuses what cannot work on
	// that version, and the first boot stops on another one (check os-version). Without it, kiln
	// relies on nothing but what all versions have. It is VERSION_ID in /etc/os-release, or its
	// beginning: 22.04, 24.04 or 26.04 for ubuntu, 12 or 13 for debian, 9 or 10 for rhel, rocky
	// and alma, 2023 for amazon-linux. The other systems replace themselves by newer versions and
	// have none.
	OSVersion string `json:"osVersion,omitempty" example:"\"24.04\""`
	// Profile says what the image has otherwise than the stock images of its operating system. A
	// narrower layer replaces it as a whole; with an empty one ({}) the image is like those. A
	// layer that sets another os needs a profile of its own.
	Profile Profile `json:"profile,omitempty"`
	// Platform is where the machine runs. It decides the size limit of the document and how the
	// document is packed.
	Platform string `json:"platform,omitempty" table:"platforms" default:"metal"`
	// Delivery says how much of the machine its document contains. The machine fetches the rest. A
	// narrower layer replaces delivery as a whole; with an empty one ({}) the document contains
	// everything.
	Delivery Delivery `json:"delivery,omitempty"`
	// Report says where the machine announces the state of its first boot. A narrower layer
	// replaces report as a whole; with an empty one ({}) the machine announces nothing.
	Report Report `json:"report,omitempty"`
	// MaxExposure is the worst secret that others may read in the machine's document. Others are
	// all but root on the machine and whoever administers its host. none: no secret. machine: keys
	// of that machine alone, and secrets of yours. join: a bootstrap token too, which lets more
	// machines join. cluster, which is the default: everything, also the keys of a control plane or
	// of etcd, which are worth the whole cluster. docs/exposure.md says who can read a document on
	// each platform.
	MaxExposure string `json:"maxExposure,omitempty" enum:"none,machine,join,cluster"`
	// Arch is the processor architecture.
	Arch string `json:"arch,omitempty" enum:"amd64,arm64" default:"amd64"`
	// KubeletVersion is the version of the kubelet on the machine, if it is not kubernetesVersion.
	// It may be up to three minors older, and of no newer minor.
	KubeletVersion string `json:"kubeletVersion,omitempty" is:"kubeletVersion"`
	// Binaries says where the kubelet, the container runtime and the CNI plugins come from. A
	// narrower layer replaces binaries as a whole; with an empty one ({}) the image has them.
	Binaries Binaries `json:"binaries,omitempty"`
	// KubeletPath is the program of the kubelet in the image. It is an absolute path, or a name
	// that systemd looks up in its search path.
	KubeletPath string `json:"kubeletPath,omitempty" default:"kubelet"`
	// SSHAuthorizedKeys are the public keys that may log in as the default user of the image.
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty" is:"sshKey"`
	// Kubelet holds fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1). kiln checks
	// them against the type of Kubernetes.
	Kubelet map[string]any `json:"kubelet,omitempty"`
	// KubeletExtraArgs are further flags of the kubelet. Few settings need them: most are fields of
	// KubeletConfiguration. The kubelet of that minor must have them.
	KubeletExtraArgs []Arg `json:"kubeletExtraArgs,omitempty" of:"kubelet"`
	// Labels are the labels of the Node. Of the keys under kubernetes.io, a kubelet may set only a
	// few itself. Workers may also have roles, node-role.kubernetes.io/NAME, from kubernetesVersion
	// v1.36 on; docs/security.md says how a Node gets them.
	Labels map[string]string `json:"labels,omitempty" is:"labelValue"`
	// Taints are the taints of the Node when it registers. If no layer sets them, control planes
	// have node-role.kubernetes.io/control-plane:NoSchedule. An empty list means no taints.
	Taints *[]Taint `json:"taints,omitempty"`
	// Files are further files on the machine.
	Files []File `json:"files,omitempty"`
	// Units are further systemd units, or settings of units that the system has.
	Units []Unit `json:"units,omitempty"`
	// SysctlProfile is a list of kernel settings: busy, or none, which is the default. busy is for
	// machines of many pods: more watches of files (inotify), memory maps, waiting connections and
	// neighbours. Settings in sysctls win over it.
	SysctlProfile string `json:"sysctlProfile,omitempty" enum:"none,busy"`
	// Sysctls are kernel settings. kiln adds those that Kubernetes needs.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// KernelModules are kernel modules to load at every boot. kiln adds those that Kubernetes
	// needs.
	KernelModules []string `json:"kernelModules,omitempty"`
	// Limits are limits of single processes in containers. A narrower layer replaces them as a
	// whole.
	Limits Limits `json:"limits,omitempty"`
	// NTPServers are the machine's time servers, in place of those of its image. Each is a name or
	// an address.
	NTPServers []string `json:"ntpServers,omitempty" example:"[ntp.example.com]" is:"host"`
	// TimeZone is the machine's time zone, by its name in the IANA database. If no layer sets it,
	// the machine has that of its image, which is UTC nearly everywhere. Pods have their own.
	TimeZone string `json:"timeZone,omitempty" example:"Europe/Berlin"`
	// HostAliases are names that the machine knows without DNS. kiln writes /etc/hosts for them:
	// localhost, the machine itself, and these. Pods do not see them, unless they are on the host's
	// network.
	HostAliases []HostAlias `json:"hostAliases,omitempty"`
	// TrustedCAsFrom are files beside cluster.yaml with certificates of CAs (PEM). Every program of
	// the machine that asks its system trusts these CAs, containerd among them. Pods do not.
	TrustedCAsFrom []string `json:"trustedCAsFrom,omitempty" example:"[company-ca.crt]"`
	// Updates says when the system may update itself, and reboot for that. A narrower layer
	// replaces it as a whole.
	Updates Updates `json:"updates,omitempty"`
	// Registries say from where containerd pulls images, and what it shows there.
	Registries []Registry `json:"registries,omitempty"`
	// Preload is from where a machine gets its images before its kubelet starts. They are pinned: a
	// kubelet that makes room removes none. registry: from where registries say. medium: from the
	// archive on a disk or CD with the label KILN-DATA. A path: from the archive in that folder of
	// the image. kiln archive makes archives. The default is empty: the kubelet has each image
	// pulled when a pod starts.
	Preload string `json:"preload,omitempty" example:"medium"`
	// Proxy is the HTTP proxy through which the machine reaches the outside. containerd pulls
	// images through it. The API server, the controller-manager and the scheduler use it too, as
	// they do with kubeadm. kube-proxy uses the one of spec.machines. The kubelet needs none. A
	// narrower layer replaces it as a whole; an empty one ({}) means no proxy.
	Proxy Proxy `json:"proxy,omitempty"`
	// Butane is a Butane config for what the other fields cannot say, such as disks. Its variant is
	// flatcar or fcos. It is for systems with Ignition only. It must not have files or units that
	// kiln writes.
	Butane string `json:"butane,omitempty"`
	// CloudConfig holds keys of cloud-init's user-data for disks and users. The keys are
	// disk_setup, fs_setup, mounts, mount_default_fields, growpart, resize_rootfs, users and
	// groups. It is for systems with cloud-init only, and must not contain passwords.
	// docs/disks-and-users.md compares it with butane.
	CloudConfig map[string]any `json:"cloudConfig,omitempty"`
	// NetworkConfig is a network configuration of cloud-init (version 1 or 2). It is delivered
	// beside the user-data. It is for systems with cloud-init only.
	NetworkConfig map[string]any `json:"networkConfig,omitempty"`
	// PreBoot are scripts that prepare the machine, its disks and networks for example. The first
	// boot runs them in this order, before it checks the machine and before it starts anything of
	// Kubernetes. If one fails or takes too long, the first boot stops with the fault pre-boot; the
	// next start runs all of them again.
	PreBoot []Script `json:"preBoot,omitempty"`
	// PostBoot are scripts that the first boot runs at its end, in this order. The machine is then
	// a healthy Node of the cluster, or its member of etcd is healthy. The scripts of control
	// planes may use /etc/kubernetes/admin.conf, which has an administrator's rights until the
	// first boot ends. If one fails or takes too long, the first boot stops with the fault
	// post-boot.
	PostBoot []Script `json:"postBoot,omitempty"`
	// IgnorePreflight names checks of the first boot whose failure it reports without stopping. A
	// check has an id, and some have a name of kubeadm too; docs/preflight.md lists both.
	IgnorePreflight []string `json:"ignorePreflight,omitempty"`

	// set holds the numbers of the fields that the file sets. A layer wins with a field that it
	// sets, even to zero.
	set fieldSet
	// dropIns holds the fields of each drop-in of the kubelet's configuration among the files.
	dropIns []map[string]any
}

// Profile says what an image has otherwise than the stock images of its operating system. Each
// field takes the place of what docs/systems.md says of that system.
type Profile struct {
	// ReadOnlyUsr says that nothing can be written below /usr. kiln puts nothing there, refuses
	// files and packages that would, and moves the folder of volume plugins to /var/lib/kubelet.
	ReadOnlyUsr bool `json:"readOnlyUsr,omitempty"`
	// Network is the program that configures the network interfaces.
	Network string `json:"network,omitempty" enum:"networkd,NetworkManager"`
	// ResolvConf is the file with the name servers that pods are to use. It must not name a
	// resolver on the machine itself, such as 127.0.0.53.
	ResolvConf string `json:"resolvConf,omitempty" example:"/run/systemd/resolve/resolv.conf"`
	// SELinux is the mode of SELinux in the image; none for an image without it.
	SELinux string `json:"selinux,omitempty" enum:"enforcing,permissive,none"`
	// TimeService is the program that sets the clock, which ntpServers configures.
	TimeService string `json:"timeService,omitempty" enum:"systemd-timesyncd,chrony,ntpd"`
	// CAFolders are the folders with the certificates that the system trusts. The API server and
	// the controller-manager see them, as they do with kubeadm.
	CAFolders []string `json:"caFolders,omitempty" example:"[/etc/ssl/certs]"`
	// CNIFolder is the folder with the CNI plugins of the image, in place of /opt/cni/bin. It needs
	// binaries.source preinstalled.
	CNIFolder string `json:"cniFolder,omitempty" example:"/usr/lib/cni"`
	// EtcdUser has the numbers of the user and the group etcd that the image brings. The document
	// then makes none.
	EtcdUser *EtcdUser `json:"etcdUser,omitempty"`
}

// EtcdUser is the user etcd of an image.
type EtcdUser struct {
	// UID is the number of the user.
	UID int `json:"uid" example:"104"`
	// GID is the number of the group.
	GID int `json:"gid" example:"110"`
}

// fieldSet is a set of fields of Machine, by number.
type fieldSet uint64

// Delivery says how a machine gets what kiln rendered for it. A file beside the document, the body,
// contains what the machine fetches. The document contains the URL and the SHA-512 of the body, and
// the machine uses nothing with another SHA-512. docs/delivery.md says how to serve bodies.
type Delivery struct {
	// Mode says what the document contains and what the body contains. whole, which is the default:
	// the document contains everything. pointer: the document is a stub of 2 KB, and the body
	// contains everything. split: the body contains the secrets, and whoever reads the document
	// learns none. lean: the document contains the secrets and little else; the body contains none
	// and may lie where everybody can read it.
	Mode string `json:"mode,omitempty" enum:"whole,pointer,split,lean"`
	// URL is where the machine fetches its body. {node} stands for the name of the machine or pool,
	// and {sha512} for the SHA-512 of the body in hexadecimal digits. It needs at least one of the
	// two.
	URL string `json:"url,omitempty" example:"https://boot.example.com/{node}/{sha512}"`
	// CA is the CA that the machine trusts there. system, which is the default: every CA that its
	// operating system trusts. cluster: the cluster's own CA, from which kiln serve has its
	// certificate.
	CA string `json:"ca,omitempty" enum:"system,cluster"`
	// CAFrom is the file beside cluster.yaml with the certificate of another CA (PEM). The machine
	// trusts that CA there.
	CAFrom string `json:"caFrom,omitempty"`
	// AllowHTTP lets the URL begin with http://. With mode lean it may anyway. The body then
	// crosses the network in the clear, with the secrets of the machine: its SHA-512 protects it
	// from changes, not from being read.
	AllowHTTP bool `json:"allowHTTP,omitempty"`
}

// Fetches reports whether the machine has a body to fetch.
func (d *Delivery) Fetches() bool { return d.Mode != "" && d.Mode != "whole" }

// Report says to which server a machine announces the state of its first boot whenever that has
// changed: it sends /var/lib/kiln/status.json, which holds no secret. kiln serve is such a server.
// A key of the machine's own proves each announcement, so that no certificate is needed. No boot
// waits for the server. docs/announcements.md says more.
type Report struct {
	// URL is where the machine announces. kiln adds /announce/ and the machine's name to it.
	URL string `json:"url,omitempty" example:"http://10.0.0.5:8080"`
	// CA is the CA that the machine trusts there, if the URL begins with https://. system, which is
	// the default: every CA that its operating system trusts. cluster: the cluster's own CA, from
	// which kiln serve has its certificate.
	CA string `json:"ca,omitempty" enum:"system,cluster"`
	// CAFrom is the file beside cluster.yaml with the certificate of another CA (PEM). The machine
	// trusts that CA there.
	CAFrom string `json:"caFrom,omitempty"`
}

// Binaries says where the programs come from that a machine needs for Kubernetes.
type Binaries struct {
	// Source says how the programs get to the machine. preinstalled, which is the default: the
	// image has the kubelet, containerd, runc and the CNI plugins. download: the first boot fetches
	// them and crictl, each with the SHA-256 that its document names, and puts them into /opt/bin
	// and /opt/cni/bin. Those of the image are not used. sysext: the first boot fetches a system
	// extension, which has the kubelet and the CNI plugins, and merges it into /usr; containerd and
	// runc are the image's. It is for flatcar, fedora-coreos and microos. packages: the first boot
	// has the system's package manager install them, with the version of the kubelet fixed. Their
	// content is not: whoever can sign for the repository can change it. It is for ubuntu, debian
	// and amazon-linux. docs/binaries.md says what comes from where, and how to serve it.
	Source string `json:"source,omitempty" table:"sources"`
	// Mirror is a URL that takes the place of scheme and host in the URL of each file; the path
	// stays. With https://mirror.example.com/k8s the kubelet comes from
	// https://mirror.example.com/k8s/release/v1.36.3/bin/linux/amd64/kubelet.
	Mirror string `json:"mirror,omitempty" example:"https://mirror.example.com/k8s"`
	// CA is the CA that the machine trusts where it fetches. system, which is the default: every
	// CA that its operating system trusts. cluster: the cluster's own CA, from which kiln serve has
	// its certificate.
	CA string `json:"ca,omitempty" enum:"system,cluster"`
	// CAFrom is the file beside cluster.yaml with the certificate of another CA (PEM). The machine
	// trusts that CA there.
	CAFrom string `json:"caFrom,omitempty"`
	// KeyFrom is the file beside cluster.yaml with the OpenPGP key of the repository of packages.
	// It is in ASCII; Kubernetes publishes it as Release.key beside its packages.
	KeyFrom string `json:"keyFrom,omitempty" example:"kubernetes.asc"`
	// Containerd is the version of containerd, v2.3.6 if it is not set.
	Containerd string `json:"containerd,omitempty" example:"v2.3.6"`
	// Runc is the version of runc, v1.5.1 if it is not set.
	Runc string `json:"runc,omitempty" example:"v1.5.1"`
	// CNIPlugins is the version of the CNI plugins, v1.9.1 if it is not set.
	CNIPlugins string `json:"cniPlugins,omitempty" example:"v1.9.1"`
	// Crictl is the version of crictl, v1.37.0 if it is not set.
	Crictl string `json:"crictl,omitempty" example:"v1.37.0"`
}

// Fetches reports whether the machine fetches its programs.
func (b *Binaries) Fetches() bool {
	return b.Source == target.SourceDownload || b.Source == target.SourceSysext
}

// versions returns the versions that the layer sets, by program.
func (b *Binaries) versions() map[string]string {
	return map[string]string{
		"containerd": b.Containerd, "runc": b.Runc, "cniPlugins": b.CNIPlugins, "crictl": b.Crictl,
	}
}

// Arg is one command-line flag.
type Arg struct {
	// Name is the name of the flag, without dashes.
	Name string `json:"name" example:"audit-log-maxage"`
	// Value is the value of the flag. Quote what YAML would read as a number or boolean.
	Value string `json:"value" example:"\"30\""`
}

// Taint is a taint of a Node.
type Taint struct {
	// Key is the key of the taint.
	Key string `json:"key" example:"dedicated" is:"labelKey"`
	// Value is the value of the taint; it may be empty.
	Value string `json:"value,omitempty" is:"labelValue"`
	// Effect is what the taint does to pods that do not tolerate it.
	Effect string `json:"effect" enum:"NoSchedule,PreferNoSchedule,NoExecute"`
}

// Updates says what becomes of the updates that a system installs by itself.
type Updates struct {
	// Policy says whether the system may update itself. image, which is the default: kiln changes
	// nothing. none: it may not; machines are replaced by those with newer images.
	Policy string `json:"policy,omitempty" enum:"image,none"`
}

// UpdatesNone is the policy that changes what the image does; image and an empty one do not.
const UpdatesNone = "none"

// Limits are limits of the kernel for single processes. containerd gets them from systemd, and all
// containers from containerd. They do not concern people who log in.
type Limits struct {
	// NoFile is how many files a process may have open. One number is the limit; with two, a
	// process begins with the first and may raise it to the second. If no layer sets it, the image
	// decides: containerd 2 has 1024:524288, and older ones have more.
	NoFile string `json:"nofile,omitempty" example:"\"65536:1048576\""`
	// MemLock is how much memory a process may keep from being swapped or moved. It is in bytes, a
	// number with K, M, G or T, or infinity; or two of these, as nofile has them. If no layer sets
	// it, it is the 8M of systemd.
	MemLock string `json:"memlock,omitempty" example:"infinity"`
}

// HostAlias is an address with its names, as in the hostAliases of a pod.
type HostAlias struct {
	// IP is the address.
	IP string `json:"ip" example:"10.0.0.5" is:"address"`
	// Hostnames are its names.
	Hostnames []string `json:"hostnames" example:"[registry.example.com]" is:"name"`
}

// Registry says from where containerd pulls the images of one registry, and what it and the kubelet
// show there. All but host is about every server that containerd asks: the mirrors, and the
// registry itself unless mirrorsOnly is set.
type Registry struct {
	// Host is the host of the registry as image references have it, with its port. _default means
	// every other registry.
	Host string `json:"host" example:"docker.io" is:"registry"`
	// Mirrors are the URLs that containerd tries before the registry itself, in this order.
	Mirrors []string `json:"mirrors,omitempty" example:"[https://mirror.example.com]" is:"url"`
	// MirrorsOnly keeps containerd from asking the registry itself for what no mirror has.
	MirrorsOnly bool `json:"mirrorsOnly,omitempty"`
	// CA is what containerd trusts there. system, which is the default: every CA that its operating
	// system trusts. cluster: the cluster's own CA too, from which kiln serve has its certificate.
	// none: any server; whoever is on the way to it decides what images without a digest are.
	CA string `json:"ca,omitempty" enum:"system,cluster,none"`
	// CAFrom is the file beside cluster.yaml with the certificate of another CA (PEM). containerd
	// trusts that CA there, beside those of the system.
	CAFrom string `json:"caFrom,omitempty"`
	// CertFrom is the file with the client certificate that containerd shows there (PEM).
	CertFrom string `json:"certFrom,omitempty" example:"registry/client.crt"`
	// KeyFrom is the file with the private key of that certificate (PEM).
	KeyFrom string `json:"keyFrom,omitempty" example:"registry/client.key"`
	// Username is the name with which the kubelet has images pulled there.
	Username string `json:"username,omitempty" example:"robot"`
	// PasswordFrom is the file beside cluster.yaml with the password of that user, on one line.
	PasswordFrom string `json:"passwordFrom,omitempty" example:"registry/password"`
}

// DefaultRegistry is the host of the row of every registry that has none of its own.
const DefaultRegistry = "_default"

// Proxy is an HTTP proxy, and the places that are reached without it.
type Proxy struct {
	// HTTP is the URL of the proxy for http:// addresses. It must not contain a user or password:
	// everybody who may read pods sees it in their environment.
	HTTP string `json:"http,omitempty" example:"http://proxy.example.com:3128"`
	// HTTPS is the URL of the proxy for https:// addresses. The default is the one of http.
	HTTPS string `json:"https,omitempty" example:"http://proxy.example.com:3128"`
	// NoProxy are further places that are reached without the proxy. Each is a host, a domain with
	// everything below it (example.com), everything below a domain (.example.com), an address, or a
	// network. kiln adds localhost, the link-local network with the platform's metadata service,
	// the networks of pods and services, the cluster domain, the endpoint, an external etcd, and
	// the /24 (IPv4) and /64 (IPv6) networks of all nodes. It does not know the networks of pools:
	// name them. A network does not cover the host names in it: name a registry as image references
	// do, and a mirror of one by its own name.
	NoProxy []string `json:"noProxy,omitempty"`
}
