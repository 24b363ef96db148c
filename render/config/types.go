// Package config reads cluster.yaml: it turns bytes into a defaulted and valid Cluster, or into the list of
// everything that is wrong with them, each problem with its line and column. It reads no files: the texts that the
// configuration names are given to it.
//
// The comments of the fields below are the reference documentation of cluster.yaml: the JSON Schema and
// `kiln explain` show them. A struct tag `default` names the value that an absent field gets, `enum` the values that
// are allowed, `layer:"node"` a field that only a node or pool may set.
package config

// Values of apiVersion and kind.
const (
	APIVersion  = "kiln.dev/v1alpha1"
	KindCluster = "Cluster"
)

// Cluster is the whole of cluster.yaml.
type Cluster struct {
	// APIVersion is the version of this file's form.
	APIVersion string `json:"apiVersion" enum:"kiln.dev/v1alpha1"`
	// Kind says that this file describes a cluster.
	Kind     string   `json:"kind" enum:"Cluster"`
	Metadata Metadata `json:"metadata" example:"{name: prod}"`
	Spec     Spec     `json:"spec" example:"{kubernetesVersion: v1.36.3, nodes: […]}"`

	source *source     // the file behind it; nil in a Cluster that Parse did not make
	roles  *roleLayers // the settings that a role's machines share, merged once
}

// Metadata names the cluster.
type Metadata struct {
	// Name is the cluster's name, an RFC 1123 label. It stands in kubeconfigs, certificates' file names and the bundle's file name.
	Name string `json:"name" example:"prod"`
}

// Spec is what the cluster is.
type Spec struct {
	// KubernetesVersion is the full version of the control plane and, unless a layer says otherwise, of the kubelets, such as v1.36.3. Minors 1.34 to 1.37 are known.
	KubernetesVersion string `json:"kubernetesVersion" example:"v1.36.3"`
	// ImageRepository is where the images of Kubernetes, etcd, CoreDNS and pause come from.
	ImageRepository string `json:"imageRepository,omitempty" default:"registry.k8s.io"`
	// Images overrides single images by the component's name (etcd, coredns, pause, kube-proxy, kube-apiserver, kube-controller-manager, kube-scheduler, kube-vip, haproxy); a value is a whole image reference and may carry a digest. Those of kube-vip and haproxy do not come from imageRepository.
	Images map[string]string `json:"images,omitempty"`
	// Endpoint is where everything outside the control plane finds the API server: a host name or an IP address, with an optional port (6443). With controlPlane.vip it defaults to that address, else with one control plane to that machine's first address. docs/endpoint.md compares the ways to have one.
	Endpoint string `json:"endpoint,omitempty"`

	Network      Network      `json:"network,omitempty"`
	Security     Security     `json:"security,omitempty"`
	Certificates Certificates `json:"certificates,omitempty"`
	DNS          DNS          `json:"dns,omitempty"`
	Boot         Boot         `json:"boot,omitempty"`

	// Machines are the settings of every machine. controlPlane.machines, controlPlane.etcd.machines, workers.machines and each pool or node override them: the narrower layer wins, maps merge key by key, lists and the proxy replace.
	Machines     Machine      `json:"machines,omitempty"`
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`
	Workers      Workers      `json:"workers,omitempty"`

	// Patches are applied to the static pods and kubelet configurations of every machine and to the API objects, in order and before those of the narrower layers.
	Patches []Patch `json:"patches,omitempty"`
	// Addons are applied to the cluster once, at its first boot, in this order and after everything else.
	Addons []Addon `json:"addons,omitempty"`

	// Nodes are the machines known by name, one document each.
	Nodes []Node `json:"nodes" example:"[{name: cp-1, role: control-plane, addresses: [10.0.0.11]}]"`
	// Pools are groups of worker machines that are not known by name: one document for many, joined with a bootstrap token. They need network.cni none. docs/pools.md says how they find out names and addresses.
	Pools []Pool `json:"pools,omitempty"`
}

// Network describes the cluster's networks.
type Network struct {
	// PodSubnets are the pods' networks, one, or one of each family in dual stack. The first one's family is the cluster's main family.
	PodSubnets []string `json:"podSubnets,omitempty" default:"10.244.0.0/16"`
	// ServiceSubnets are the services' networks, one, or one of each family in dual stack, in the same order of families as podSubnets.
	ServiceSubnets []string `json:"serviceSubnets,omitempty" default:"10.96.0.0/12"`
	// NodeMaskSizes are the prefix lengths of one machine's part of each pod subnet (24 for IPv4, 64 for IPv6 by default), in the order of podSubnets.
	NodeMaskSizes []int `json:"nodeMaskSizes,omitempty"`
	// DNSDomain is the cluster's DNS domain.
	DNSDomain string `json:"dnsDomain,omitempty" default:"cluster.local"`
	// CNI is how pods reach each other. routed: a bridge, host-local addresses and one static route per machine, for machines on one network segment. none: you bring one with addons.
	CNI string `json:"cni,omitempty" enum:"routed,none" default:"routed"`
	// MTU is the MTU of the pods' interfaces with cni routed; 0 takes the kernel's default.
	MTU int `json:"mtu,omitempty"`
	// Proxy is kube-proxy's mode; none leaves kube-proxy out.
	Proxy string `json:"proxy,omitempty" enum:"nftables,iptables,none" default:"nftables"`
}

// Security says how far the cluster is hardened beyond what no cluster notices.
type Security struct {
	// Profile sets what the other fields leave open. cis: every automated check of the CIS benchmark passes; see docs/security.md for what that means for pods and clients. baseline: without the audit log, Pod Security, the API server's refusal of anonymous requests, the limits on pods and the wall before the metadata service.
	Profile string `json:"profile,omitempty" enum:"cis,baseline" default:"cis"`
	// Encryption is how Secrets lie in etcd. secretbox: encrypted with the bundle's key. identity: in the clear; what was written encrypted stays readable.
	Encryption string `json:"encryption,omitempty" enum:"secretbox,identity" default:"secretbox"`
	// PodSecurity is what pods may do in namespaces that have no Pod Security labels of their own.
	PodSecurity PodSecurity `json:"podSecurity,omitempty"`
	// MetadataService says whether pods may reach the platform's metadata service, which hands out the machine's document and often its cloud credentials. Pods on the host's network always can. The default is deny with profile cis, allow with baseline.
	MetadataService string `json:"metadataService,omitempty" enum:"deny,allow"`
	// AlwaysPullImages makes every start of a pod ask the image's registry whether the pod may have it; no pod then starts without the registry.
	AlwaysPullImages bool `json:"alwaysPullImages,omitempty"`
}

// Hardened says that the profile is cis.
func (s *Security) Hardened() bool { return s.Profile == "cis" }

// PodSecurity is the API server's default for Pod Security Admission.
type PodSecurity struct {
	// Enforce is the level that pods have to meet. The default is baseline with profile cis, privileged (everything is allowed) with profile baseline.
	Enforce string `json:"enforce,omitempty" enum:"privileged,baseline,restricted"`
	// ExemptNamespaces are namespaces without any level, beside kube-system.
	ExemptNamespaces []string `json:"exemptNamespaces,omitempty"`
}

// Certificates says how long certificates live and what keys they have.
type Certificates struct {
	// KeyAlgorithm is the algorithm of the CA keys and the service account key; leaf keys are always ECDSA-P256. It matters when the bundle is made.
	KeyAlgorithm string `json:"keyAlgorithm,omitempty" enum:"ECDSA-P256,RSA-2048" default:"ECDSA-P256"`
	// Lifetime is how long leaf certificates are valid after the bundle's issue time.
	Lifetime Duration `json:"lifetime,omitempty" default:"8760h"`
	// CALifetime is how long the CAs are valid; it matters when the bundle is made.
	CALifetime Duration `json:"caLifetime,omitempty" default:"87600h"`
	// Stagger spreads the ends of the machines' certificates: each machine's end up to this much earlier, by its name, so that not all end at once.
	Stagger Duration `json:"stagger,omitempty" default:"0s"`
	// KubeletServing is what API servers and metrics find at the port of a kubelet that joined with a token (pools, identity token); named machines have a serving certificate of the cluster's CA in their documents. self-signed: the kubelet makes its own, and API servers verify no kubelet. request: it asks the cluster for one (serverTLSBootstrap), and API servers verify all kubelets; somebody has to approve the requests, and until then there are no logs, exec and metrics of that machine. docs/pools.md compares the approvers.
	KubeletServing string `json:"kubeletServing,omitempty" enum:"self-signed,request" default:"self-signed"`
	// Signing says where the cluster's CA key is. online: on the control planes, where the controller-manager signs certificate requests. offline: on no machine; client certificates are then not rotated and pools cannot join.
	Signing string `json:"signing,omitempty" enum:"online,offline" default:"online"`
}

// DNS is the cluster's DNS service.
type DNS struct {
	// Provider is coredns, or none if you bring one with addons.
	Provider string `json:"provider,omitempty" enum:"coredns,none" default:"coredns"`
	// Replicas is how many CoreDNS pods run.
	Replicas int `json:"replicas,omitempty" default:"2"`
}

// Boot bounds the first boot's waits.
type Boot struct {
	// FormationWindow is how long after the bundle was made a new etcd cluster may be formed and the install credential is valid. It matters when the bundle is made.
	FormationWindow Duration `json:"formationWindow,omitempty" default:"168h"`
	// StepTimeout is how long the hook waits for one step (the kubelet, etcd, the API server, …), image pulls included, before it stops with a reason.
	StepTimeout Duration `json:"stepTimeout,omitempty" default:"30m"`
}

// Machine holds the settings that every layer can make: machines (all), controlPlane.machines, controlPlane.etcd.machines and
// workers.machines (a role), nodes and pools.
type Machine struct {
	// OS is the machine's operating system; it decides the document's format (Ignition for flatcar, fedora-coreos and microos, cloud-init for the others) and paths.
	OS string `json:"os,omitempty" enum:"flatcar,fedora-coreos,microos,ubuntu,debian,rhel,amazon-linux"`
	// Platform is where the machine runs; it sets the document's size limit and envelope.
	Platform string `json:"platform,omitempty" enum:"akamai,aws,azure,digitalocean,exoscale,gcp,hetzner,hyperv,kubevirt,libvirt,metal,nocloud,openstack,oracle,proxmox,qemu,scaleway,vsphere,vultr" default:"metal"`
	// Delivery says how much of what the machine is stands in its document, and how much of it the machine fetches. A narrower layer replaces it as a whole: an empty one ({}) means that everything stands in the document.
	Delivery Delivery `json:"delivery,omitempty"`
	// Arch is the processor architecture.
	Arch string `json:"arch,omitempty" enum:"amd64,arm64" default:"amd64"`
	// KubeletVersion is the version of the kubelet on the machine, if it is not kubernetesVersion: at most three minors older, never newer.
	KubeletVersion string `json:"kubeletVersion,omitempty"`
	// KubeletPath is the kubelet's program; a plain name is looked up in systemd's search path.
	KubeletPath string `json:"kubeletPath,omitempty" default:"kubelet"`
	// SSHAuthorizedKeys are the public keys that may log in as the image's default user.
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
	// Kubelet holds fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1), checked against the real type.
	Kubelet map[string]any `json:"kubelet,omitempty"`
	// KubeletExtraArgs are further flags of the kubelet, for the few that have no configuration field.
	KubeletExtraArgs []Arg `json:"kubeletExtraArgs,omitempty"`
	// Labels are the Node's labels. Keys under kubernetes.io are limited to those that a kubelet may set itself, and to roles of workers, node-role.kubernetes.io/NAME, from kubernetesVersion v1.36 on; docs/security.md says how a Node gets those.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are the Node's taints at registration. Control planes have node-role.kubernetes.io/control-plane:NoSchedule unless a layer sets taints; an empty list means none.
	Taints *[]Taint `json:"taints,omitempty"`
	// Identity is how a named machine's kubelet proves who it is. certificate: its own client certificate is in its document. token: a bootstrap token is, and the certificate is requested at first boot. Pools always use a token.
	Identity string `json:"identity,omitempty" enum:"certificate,token" default:"certificate"`
	// Files are further files on the machine.
	Files []File `json:"files,omitempty"`
	// Units are further systemd units, or settings of units that the system brings.
	Units []Unit `json:"units,omitempty"`
	// Sysctls are kernel settings beside those that Kubernetes needs.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// KernelModules are loaded at every boot beside those that Kubernetes needs.
	KernelModules []string `json:"kernelModules,omitempty"`
	// Registries are mirrors of image registries, for containerd.
	Registries []Registry `json:"registries,omitempty"`
	// Proxy is the HTTP proxy through which the machine reaches what lies outside: containerd pulls images through it, and API server, controller-manager and scheduler use it too, as they do with kubeadm; so does kube-proxy with the one of spec.machines. The kubelet needs none. A narrower layer replaces it as a whole: an empty one ({}) means none.
	Proxy Proxy `json:"proxy,omitempty"`
	// Butane is a Butane config (variant flatcar or fcos) for what the other fields cannot say, such as disks; for systems with Ignition only. Its files and units must not be ours.
	Butane string `json:"butane,omitempty"`
	// CloudConfig holds keys of cloud-init's user-data for what the other fields cannot say, disks and users: disk_setup, fs_setup, mounts, mount_default_fields, growpart, resize_rootfs, users and groups; for systems with cloud-init only. Passwords are not taken. docs/disks-and-users.md shows it beside butane.
	CloudConfig map[string]any `json:"cloudConfig,omitempty"`
	// NetworkConfig is cloud-init's network configuration (version 1 or 2), delivered beside the user-data; for systems with cloud-init only.
	NetworkConfig map[string]any `json:"networkConfig,omitempty"`
	// PreBoot are scripts that the first boot runs in this order before it looks at the machine or starts anything of Kubernetes: disks and networks are prepared here. One that fails or takes too long stops the first boot with the fault pre-boot; the next start runs all of them again.
	PreBoot []Script `json:"preBoot,omitempty"`
	// PostBoot are scripts that the first boot runs in this order when the machine is a healthy Node of the cluster, or its member of etcd is healthy. Those of control planes may still use /etc/kubernetes/admin.conf, which is an administrator's until the first boot ends. One that fails or takes too long stops the first boot with the fault post-boot.
	PostBoot []Script `json:"postBoot,omitempty"`
	// IgnorePreflight names checks of the first boot whose failure is reported but does not stop it, by their ids or by kubeadm's names; docs/preflight.md lists them.
	IgnorePreflight []string `json:"ignorePreflight,omitempty"`

	// set holds which fields stand in the file, by number: a layer wins by saying something, not by saying something
	// other than zero.
	set fieldSet
}

// Delivery says how a machine gets what it is. What it fetches is a file beside its document, the body; the document has the body's URL and SHA-512, and
// the machine acts on nothing that has another. docs/delivery.md says how bodies are served.
type Delivery struct {
	// Mode is whole if it is absent: everything stands in the document. pointer: the document is a stub of 2 KB, and everything stands in the body. split: only secrets stand in the body, and whoever reads the document learns none. lean: no secret stands in the body, which may lie where anybody can read it, and little else in the document.
	Mode string `json:"mode,omitempty" enum:"whole,pointer,split,lean"`
	// URL is where the machine fetches its body. {node} stands for the name of the machine or pool, {sha512} for the body's SHA-512 in hex; at least one of them is in it.
	URL string `json:"url,omitempty" example:"https://boot.example.com/{node}/{sha512}"`
	// CA is whom the machine trusts to sign the certificate there. system, if it is absent: those whom its system trusts. cluster: the cluster's own CA, from which kiln serve has its certificate.
	CA string `json:"ca,omitempty" enum:"system,cluster"`
	// CAFrom is the file, beside cluster.yaml, with the certificate of another CA to trust there (PEM).
	CAFrom string `json:"caFrom,omitempty"`
	// AllowHTTP lets the URL begin with http://, which that of mode lean may anyway. The body then crosses the network in the clear, with the machine's secrets: its SHA-512 protects it from being changed, not from being read.
	AllowHTTP bool `json:"allowHTTP,omitempty"`
}

// Fetches says that the machine has a body to fetch.
func (d *Delivery) Fetches() bool { return d.Mode != "" && d.Mode != "whole" }

// ControlPlane holds the settings of the control plane.
type ControlPlane struct {
	// Machines are the settings of the control-plane machines.
	Machines          Machine   `json:"machines,omitempty"`
	APIServer         APIServer `json:"apiServer,omitempty"`
	ControllerManager Component `json:"controllerManager,omitempty"`
	Scheduler         Component `json:"scheduler,omitempty"`
	Etcd              Etcd      `json:"etcd,omitempty"`
	// VIP lets kube-vip carry the endpoint's address, on one control plane at a time. {} is enough if the endpoint is an address.
	VIP *VIP `json:"vip,omitempty"`
	// Patches are applied to the static pods and kubelet configurations of control planes and to the API objects, after spec.patches.
	Patches []Patch `json:"patches,omitempty"`
}

// Workers holds the settings of the workers.
type Workers struct {
	// Machines are the settings of the worker machines.
	Machines Machine `json:"machines,omitempty"`
	// LocalBalancer gives every worker, also those of pools, a balancer of its own before the API servers: kubelet, kube-proxy and first boot then need no endpoint. {} is enough. The endpoint remains what admin.conf and everything outside the cluster use.
	LocalBalancer *LocalBalancer `json:"localBalancer,omitempty"`
	// Patches are applied to the static pods and kubelet configurations of workers, after spec.patches.
	Patches []Patch `json:"patches,omitempty"`
}

// LocalBalancer is a static pod on every worker that listens on its loopback address and passes connections on to the control planes that were known when the document was rendered.
type LocalBalancer struct {
	// Type is the program. Its image is haproxy in spec.images.
	Type string `json:"type,omitempty" enum:"haproxy" default:"haproxy"`
	// Port is the port on the loopback address. kube-proxy, which has one configuration for all machines, uses the balancer with the API servers' own port only, and the endpoint with any other.
	Port int `json:"port,omitempty" default:"6443"`
}

// VIP is the address of the endpoint that moves between the control planes, carried by a static pod of kube-vip on each.
type VIP struct {
	// Address is the address that is carried: the host of the endpoint, or what that name resolves to. It is no machine's own.
	Address string `json:"address,omitempty" example:"10.0.0.10"`
	// Interface is the control planes' network interface that gets the address. By default it is the one with the default route, and lo with mode bgp.
	Interface string `json:"interface,omitempty" example:"eth0"`
	// Mode is how others learn where the address is. arp: gratuitous ARP and neighbour advertisements, for control planes on one network segment. bgp: a route to the routers in bgp.peers.
	Mode string `json:"mode,omitempty" enum:"arp,bgp" default:"arp"`
	// BGP names the routers for mode bgp.
	BGP *BGP `json:"bgp,omitempty"`
}

// BGP is how the control planes talk to routers. Each one's router id follows from its own address. Sessions have no passwords: they would stand in the clear in the pod's environment.
type BGP struct {
	// LocalAS is the autonomous system of the control planes.
	LocalAS uint32 `json:"localAS" example:"65000"`
	// Peers are the routers; every control plane connects to each.
	Peers []BGPPeer `json:"peers" example:"[{address: 10.0.0.1, as: 65001}]"`
}

// BGPPeer is one router.
type BGPPeer struct {
	// Address is the router's address.
	Address string `json:"address" example:"10.0.0.1"`
	// AS is the router's autonomous system.
	AS uint32 `json:"as" example:"65001"`
	// MultiHop is for a router that is not on the control planes' own network segment.
	MultiHop bool `json:"multiHop,omitempty"`
}

// Component holds the settings of a control-plane component.
type Component struct {
	// ExtraArgs are further flags, without the leading dashes. One that kiln sets too replaces kiln's value; a name may repeat.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
}

// APIServer holds the settings of kube-apiserver.
type APIServer struct {
	// ExtraArgs are further flags, without the leading dashes. One that kiln sets too replaces kiln's value; a name may repeat.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
	// CertSANs are further names and addresses in the API server's certificate; wildcards are allowed.
	CertSANs []string `json:"certSANs,omitempty"`
}

// Arg is one command-line flag.
type Arg struct {
	// Name is the flag without dashes.
	Name string `json:"name" example:"audit-log-maxage"`
	// Value is the flag's value; quote what YAML would read as a number or truth value.
	Value string `json:"value" example:"\"30\""`
}

// Etcd holds the settings of etcd: of its members, which are on the control planes or on the nodes with role etcd if there are any, or of an external cluster.
type Etcd struct {
	// Machines are the settings of the machines with role etcd, which carry a member of etcd and nothing else of the cluster. They have no Node, so labels, taints and identity are not for them.
	Machines Machine `json:"machines,omitempty"`
	// ExtraArgs are further flags of the members.
	ExtraArgs []Arg `json:"extraArgs,omitempty"`
	// External names an etcd cluster that somebody else runs; the control planes then have no members.
	External *ExternalEtcd `json:"external,omitempty"`
	// AllowEvenMembers allows two or four members, which tolerate no more failures than one or three.
	AllowEvenMembers bool `json:"allowEvenMembers,omitempty"`
	// Backup makes every member take snapshots of its data.
	Backup *EtcdBackup `json:"backup,omitempty"`
}

// EtcdBackup says when the members of etcd take snapshots, and where these stay.
type EtcdBackup struct {
	// Directory is the folder for the snapshots on the machine, best on a disk of its own; it is made if it is missing. Whoever can
	// read a snapshot has all of the cluster's objects.
	Directory string `json:"directory,omitempty" default:"/var/backups/etcd"`
	// Every is how often: a part of a day that fits whole, from 15m to 24h.
	Every Duration `json:"every,omitempty" default:"6h"`
	// Keep is how many snapshots stay; the oldest are removed.
	Keep int `json:"keep,omitempty" default:"12"`
}

// ExternalEtcd names an etcd cluster that somebody else runs.
type ExternalEtcd struct {
	// Endpoints are the members' client URLs.
	Endpoints []string `json:"endpoints" example:"[https://10.0.0.31:2379]"`
	// CAFrom is the file, beside cluster.yaml, with the CA that signed the members' certificates (PEM).
	CAFrom string `json:"caFrom" example:"etcd/ca.crt"`
	// CertFrom is the file with the API server's client certificate (PEM).
	CertFrom string `json:"certFrom" example:"etcd/client.crt"`
	// KeyFrom is the file with that certificate's private key (PEM).
	KeyFrom string `json:"keyFrom" example:"etcd/client.key"`
}

// Taint is a Node's taint.
type Taint struct {
	// Key is the taint's key.
	Key string `json:"key" example:"dedicated"`
	// Value is the taint's value; it may be empty.
	Value string `json:"value,omitempty"`
	// Effect says what the taint does.
	Effect string `json:"effect" enum:"NoSchedule,PreferNoSchedule,NoExecute"`
}

// File is a file for the machine; its text stands in content or in the file that contentFrom names.
type File struct {
	// Path is where the file lies on the machine: absolute and clean.
	Path string `json:"path" example:"/etc/motd"`
	// Mode is the file's permissions as quoted octal digits.
	Mode string `json:"mode,omitempty" default:"0644"`
	// Owner is the file's user and group, as user:group; each by name, which must exist on the machine, or by number.
	Owner string `json:"owner,omitempty" default:"root:root"`
	// Content is the file's text.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml whose bytes become the content.
	ContentFrom string `json:"contentFrom,omitempty"`
	// Secret keeps the content out of the review twin and of what kiln unpack shows. The mode must keep it from everybody but owner and group.
	Secret bool `json:"secret,omitempty"`
}

// Unit is a systemd unit: a new one, or a change of one that the system brings.
type Unit struct {
	// Name is the unit's name with its suffix.
	Name string `json:"name" example:"backup.service"`
	// Enabled starts the unit at every boot.
	Enabled bool `json:"enabled,omitempty"`
	// Masked keeps the unit from ever starting.
	Masked bool `json:"masked,omitempty"`
	// Content is the unit's text; without it the unit is the system's own.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml that holds the unit's text.
	ContentFrom string `json:"contentFrom,omitempty"`
	// DropIns are further settings of the unit.
	DropIns []DropIn `json:"dropIns,omitempty"`
}

// DropIn is a file in a unit's .d folder.
type DropIn struct {
	// Name is the drop-in's file name and ends in .conf.
	Name string `json:"name" example:"10-proxy.conf"`
	// Content is the drop-in's text.
	Content string `json:"content" example:"\"[Service]\\nRestart=always\\n\""`
}

// Registry says from where containerd pulls the images of one registry.
type Registry struct {
	// Host is the registry's host as images name it, with the port if there is one; _default means every other registry.
	Host string `json:"host" example:"docker.io"`
	// Mirrors are the URLs tried instead, in order.
	Mirrors []string `json:"mirrors" example:"[https://mirror.example.com]"`
}

// Proxy is an HTTP proxy, and what is reached without it.
type Proxy struct {
	// HTTP is the URL of the proxy for http:// addresses. It holds no user or password: pods' environments show it to everybody who may read pods.
	HTTP string `json:"http,omitempty" example:"http://proxy.example.com:3128"`
	// HTTPS is the URL of the proxy for https:// addresses; by default the one of http.
	HTTPS string `json:"https,omitempty" example:"http://proxy.example.com:3128"`
	// NoProxy are further places that are reached without the proxy: hosts, domains with what lies below them (example.com), what lies below them alone (.example.com), addresses, networks. localhost, the link-local network with the platform's metadata service, pods, services, the cluster domain, the endpoint, an external etcd and the /24 and /64 networks of all nodes are among them by themselves; the networks of pools are not known and have to be named. A network does not stand for the names of hosts in it: name a registry as images do.
	NoProxy []string `json:"noProxy,omitempty"`
}

// Script is a text that the first boot gives to sh, as root and in a unit of its own; its text stands in content or in the file that contentFrom names. What it prints is in the first boot's report, and its failure stops the machine.
type Script struct {
	// Name is the script's name, an RFC 1123 label.
	Name string `json:"name" example:"raid"`
	// Content is the script's text.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml whose bytes become the script.
	ContentFrom string `json:"contentFrom,omitempty"`
	// Timeout is how long the script may run; boot.stepTimeout does not count for it.
	Timeout Duration `json:"timeout,omitempty" default:"5m"`
	// Secret keeps the content out of the review twin and of what kiln unpack shows.
	Secret bool `json:"secret,omitempty"`
}

// Patch is a kustomize patch: a strategic merge, or a list of JSON6902 operations with a target.
type Patch struct {
	// Patch is the patch's text.
	Patch string `json:"patch,omitempty"`
	// PatchFrom is the file beside cluster.yaml that holds the patch.
	PatchFrom string `json:"patchFrom,omitempty"`
	// Target selects what is patched; a strategic merge without target patches the object that it names itself.
	Target *Target `json:"target,omitempty"`
}

// Target selects objects as kustomize does: names are anchored regular expressions, an absent field matches all.
type Target struct {
	Group         string `json:"group,omitempty"`
	Version       string `json:"version,omitempty"`
	Kind          string `json:"kind,omitempty"`
	Name          string `json:"name,omitempty"`
	Namespace     string `json:"namespace,omitempty"`
	LabelSelector string `json:"labelSelector,omitempty"`
}

// Addon is one manifest file or kustomize folder beside cluster.yaml.
type Addon struct {
	// Path is a file with one or more YAML documents, or a folder with a kustomization.
	Path string `json:"path" example:"addons/cilium.yaml"`
}

// Node is one machine known by name.
type Node struct {
	// Name is the machine's host name and the Node's name: an RFC 1123 subdomain of at most 63 characters.
	Name string `json:"name" example:"worker-1"`
	// Role is what the machine is. etcd: it carries a member of etcd, and no control plane does; see docs/etcd.md.
	Role string `json:"role" enum:"control-plane,worker,etcd"`
	// Addresses are the machine's IP addresses, one for each family of the cluster, the main family first.
	Addresses []string `json:"addresses" example:"[10.0.0.11]"`
	// PodCIDRs are the machine's parts of the pod subnets with cni routed; an etcd machine has none. By default they follow from the machine's addresses: 10.0.0.21 with pods in 10.244.0.0/16 gets 10.244.21.0/24.
	PodCIDRs []string `json:"podCIDRs,omitempty"`
	// MAC is the MAC address of one of the machine's interfaces, in any of the usual spellings; a machine that boots from the network is told by it which document is its own. Where it is given, the first boot stops on another machine.
	MAC string `json:"mac,omitempty" example:"52:54:00:12:34:56"`
	// ProductUUID is the UUID that the machine's firmware gives it (SMBIOS system UUID, /sys/class/dmi/id/product_uuid). Where it is given, the first boot stops on another machine.
	ProductUUID string `json:"productUUID,omitempty" example:"8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"`
	// Interfaces are the machine's network interfaces, where the platform does not configure them: as cloud-init's network-config, or as files of the program that configures interfaces on a system with Ignition. docs/interfaces.md shows them. Beside them there is no networkConfig.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Patches are applied to this machine's static pods and kubelet configuration, last.
	Patches []Patch `json:"patches,omitempty"`

	Machine `json:",inline"`
}

// Interface is a network interface of a machine: one of its own, known by its name or by its MAC address, or a bond or VLAN that is made of others.
type Interface struct {
	// Name is the interface's name. With mac, the interface of that address is given this name; without a name it gets the one that systemd makes of the address, such as enx525400123456.
	Name string `json:"name,omitempty" example:"eth0"`
	// MAC is the address by which the interface is found, in any of the usual spellings. Bonds and VLANs have none.
	MAC string `json:"mac,omitempty" example:"52:54:00:12:34:56"`
	// Addresses are the interface's own addresses, with the prefix length of their network.
	Addresses []string `json:"addresses,omitempty" example:"[10.0.0.11/24]"`
	// DHCP4 asks for an IPv4 address.
	DHCP4 bool `json:"dhcp4,omitempty"`
	// DHCP6 asks for IPv6 addresses, by DHCP and of the routers.
	DHCP6 bool `json:"dhcp6,omitempty"`
	// Gateways are the default routers, at most one of each family, in a network of the interface.
	Gateways []string `json:"gateways,omitempty" example:"[10.0.0.1]"`
	// Routes are further routes through this interface.
	Routes []Route `json:"routes,omitempty"`
	// Nameservers are the addresses of DNS servers.
	Nameservers []string `json:"nameservers,omitempty" example:"[10.0.0.2]"`
	// SearchDomains are the domains that short names are looked up in.
	SearchDomains []string `json:"searchDomains,omitempty" example:"[example.com]"`
	// MTU is the largest packet in bytes, 1280 to 65535; 0 is the kernel's default, or DHCP's.
	MTU int `json:"mtu,omitempty"`
	// Bond makes this interface a bond of others in the list.
	Bond *Bond `json:"bond,omitempty"`
	// VLAN makes this interface a VLAN on another in the list.
	VLAN *VLAN `json:"vlan,omitempty"`
}

// Route is a route through an interface.
type Route struct {
	// To is the network behind the router.
	To string `json:"to" example:"10.1.0.0/16"`
	// Via is the router, in a network of the interface.
	Via string `json:"via" example:"10.0.0.254"`
	// Metric decides between routes to the same network, the lowest wins; 0 is the system's default. cloud-init knows metrics on ubuntu and debian alone.
	Metric int `json:"metric,omitempty"`
}

// Bond is an interface that is made of several, its members, which have no addresses of their own.
type Bond struct {
	// Members are the names of the interfaces.
	Members []string `json:"members" example:"[eth0, eth1]"`
	// Mode says how the members share the work.
	Mode string `json:"mode" enum:"active-backup,802.3ad,balance-rr,balance-xor,broadcast,balance-tlb,balance-alb"`
	// MIIMon is how often the members' links are looked at, in milliseconds, 1 to 60000.
	MIIMon int `json:"miimon,omitempty" default:"100"`
	// LACPRate is how often the other side is asked for its state, every 30 seconds or every second, with mode 802.3ad.
	LACPRate string `json:"lacpRate,omitempty" enum:"slow,fast"`
	// TransmitHashPolicy is what of a packet decides which member sends it, with modes 802.3ad, balance-xor and balance-tlb.
	TransmitHashPolicy string `json:"transmitHashPolicy,omitempty" enum:"layer2,layer2+3,layer3+4,encap2+3,encap3+4"`
	// Primary is the member that is used as long as its link is up, with modes active-backup, balance-tlb and balance-alb.
	Primary string `json:"primary,omitempty"`
}

// VLAN is an interface that carries one VLAN of another.
type VLAN struct {
	// ID is the VLAN's number, 1 to 4094.
	ID int `json:"id" example:"100"`
	// Link is the name of the interface, or bond, that it is on.
	Link string `json:"link" example:"bond0"`
}

// NodeAddress says where a machine of a pool has its Node's address: the first one, of each family of the cluster, that is on the interface and in a network.
type NodeAddress struct {
	// Interface is the name of the interface.
	Interface string `json:"interface,omitempty" example:"eth1"`
	// Networks are the networks, at most one of each family.
	Networks []string `json:"networks,omitempty" example:"[10.8.0.0/16]"`
}

// Pool is a group of worker machines that boot from one document.
type Pool struct {
	// Name is the pool's name, an RFC 1123 label.
	Name string `json:"name" example:"blue"`
	// TokenLifetime is how long after the bundle's issue time the pool's bootstrap token lets machines join.
	TokenLifetime Duration `json:"tokenLifetime,omitempty" default:"168h"`
	// NodeName is where a machine has its name from, which is its Node's, at its first boot. hostname: what DHCP, the image or the platform has made the host's name; localhost is waited out. metadata: what the platform's metadata service calls it, as the platform's cloud controller wants it (aws, azure, gcp, openstack).
	NodeName string `json:"nodeName,omitempty" enum:"hostname,metadata" default:"hostname"`
	// NodeAddress says which of a machine's addresses is its Node's. By default it is the one that packets leave from by the default route.
	NodeAddress NodeAddress `json:"nodeAddress,omitempty"`
	// Patches are applied to the pool's kubelet configuration, last.
	Patches []Patch `json:"patches,omitempty"`

	Machine `json:",inline"`
}
