package config

// Machine holds the settings that every layer can make: machines (all), controlPlane.machines,
// controlPlane.etcd.machines and workers.machines (a role), nodes and pools.
type Machine struct {
	// OS is the machine's operating system; it decides the document's format (Ignition for flatcar,
	// fedora-coreos and microos, cloud-init for the others) and paths.
	OS string `json:"os,omitempty" enum:"flatcar,fedora-coreos,microos,ubuntu,debian,rhel,amazon-linux"`
	// Platform is where the machine runs; it sets the document's size limit and envelope.
	Platform string `json:"platform,omitempty" enum:"akamai,aws,azure,digitalocean,exoscale,gcp,hetzner,hyperv,kubevirt,libvirt,metal,nocloud,openstack,oracle,proxmox,qemu,scaleway,vsphere,vultr" default:"metal"`
	// Delivery says how much of what the machine is stands in its document, and how much of it the
	// machine fetches. A narrower layer replaces it as a whole: an empty one ({}) means that
	// everything stands in the document.
	Delivery Delivery `json:"delivery,omitempty"`
	// Arch is the processor architecture.
	Arch string `json:"arch,omitempty" enum:"amd64,arm64" default:"amd64"`
	// KubeletVersion is the version of the kubelet on the machine, if it is not kubernetesVersion:
	// at most three minors older, never newer.
	KubeletVersion string `json:"kubeletVersion,omitempty"`
	// KubeletPath is the kubelet's program; a plain name is looked up in systemd's search path.
	KubeletPath string `json:"kubeletPath,omitempty" default:"kubelet"`
	// SSHAuthorizedKeys are the public keys that may log in as the image's default user.
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
	// Kubelet holds fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1), checked against
	// the real type.
	Kubelet map[string]any `json:"kubelet,omitempty"`
	// KubeletExtraArgs are further flags of the kubelet, for the few that have no configuration
	// field.
	KubeletExtraArgs []Arg `json:"kubeletExtraArgs,omitempty"`
	// Labels are the Node's labels. Keys under kubernetes.io are limited to those that a kubelet
	// may set itself, and to roles of workers, node-role.kubernetes.io/NAME, from kubernetesVersion
	// v1.36 on; docs/security.md says how a Node gets those.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are the Node's taints at registration. Control planes have
	// node-role.kubernetes.io/control-plane:NoSchedule unless a layer sets taints; an empty list
	// means none.
	Taints *[]Taint `json:"taints,omitempty"`
	// Identity is how a named machine's kubelet proves who it is. certificate: its own client
	// certificate is in its document. token: a bootstrap token is, and the certificate is requested
	// at first boot. Pools always use a token.
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
	// Proxy is the HTTP proxy through which the machine reaches what lies outside: containerd pulls
	// images through it, and API server, controller-manager and scheduler use it too, as they do
	// with kubeadm; so does kube-proxy with the one of spec.machines. The kubelet needs none. A
	// narrower layer replaces it as a whole: an empty one ({}) means none.
	Proxy Proxy `json:"proxy,omitempty"`
	// Butane is a Butane config (variant flatcar or fcos) for what the other fields cannot say,
	// such as disks; for systems with Ignition only. Its files and units must not be ours.
	Butane string `json:"butane,omitempty"`
	// CloudConfig holds keys of cloud-init's user-data for what the other fields cannot say, disks
	// and users: disk_setup, fs_setup, mounts, mount_default_fields, growpart, resize_rootfs, users
	// and groups; for systems with cloud-init only. Passwords are not taken.
	// docs/disks-and-users.md shows it beside butane.
	CloudConfig map[string]any `json:"cloudConfig,omitempty"`
	// NetworkConfig is cloud-init's network configuration (version 1 or 2), delivered beside the
	// user-data; for systems with cloud-init only.
	NetworkConfig map[string]any `json:"networkConfig,omitempty"`
	// PreBoot are scripts that the first boot runs in this order before it looks at the machine or
	// starts anything of Kubernetes: disks and networks are prepared here. One that fails or takes
	// too long stops the first boot with the fault pre-boot; the next start runs all of them again.
	PreBoot []Script `json:"preBoot,omitempty"`
	// PostBoot are scripts that the first boot runs in this order when the machine is a healthy
	// Node of the cluster, or its member of etcd is healthy. Those of control planes may still use
	// /etc/kubernetes/admin.conf, which is an administrator's until the first boot ends. One that
	// fails or takes too long stops the first boot with the fault post-boot.
	PostBoot []Script `json:"postBoot,omitempty"`
	// IgnorePreflight names checks of the first boot whose failure is reported but does not stop
	// it, by their ids or by kubeadm's names; docs/preflight.md lists them.
	IgnorePreflight []string `json:"ignorePreflight,omitempty"`

	// set holds which fields stand in the file, by number: a layer wins by saying something, not by
	// saying something other than zero.
	set fieldSet
}

// Delivery says how a machine gets what it is. What it fetches is a file beside its document, the
// body; the document has the body's URL and SHA-512, and the machine acts on nothing that has
// another. docs/delivery.md says how bodies are served.
type Delivery struct {
	// Mode is whole if it is absent: everything stands in the document. pointer: the document is a
	// stub of 2 KB, and everything stands in the body. split: only secrets stand in the body, and
	// whoever reads the document learns none. lean: no secret stands in the body, which may lie
	// where anybody can read it, and little else in the document.
	Mode string `json:"mode,omitempty" enum:"whole,pointer,split,lean"`
	// URL is where the machine fetches its body. {node} stands for the name of the machine or pool,
	// {sha512} for the body's SHA-512 in hex; at least one of them is in it.
	URL string `json:"url,omitempty" example:"https://boot.example.com/{node}/{sha512}"`
	// CA is whom the machine trusts to sign the certificate there. system, if it is absent: those
	// whom its system trusts. cluster: the cluster's own CA, from which kiln serve has its
	// certificate.
	CA string `json:"ca,omitempty" enum:"system,cluster"`
	// CAFrom is the file, beside cluster.yaml, with the certificate of another CA to trust there
	// (PEM).
	CAFrom string `json:"caFrom,omitempty"`
	// AllowHTTP lets the URL begin with http://, which that of mode lean may anyway. The body then
	// crosses the network in the clear, with the machine's secrets: its SHA-512 protects it from
	// being changed, not from being read.
	AllowHTTP bool `json:"allowHTTP,omitempty"`
}

// Fetches says that the machine has a body to fetch.
func (d *Delivery) Fetches() bool { return d.Mode != "" && d.Mode != "whole" }

// Arg is one command-line flag.
type Arg struct {
	// Name is the flag without dashes.
	Name string `json:"name" example:"audit-log-maxage"`
	// Value is the flag's value; quote what YAML would read as a number or boolean.
	Value string `json:"value" example:"\"30\""`
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

// Registry says from where containerd pulls the images of one registry.
type Registry struct {
	// Host is the registry's host as images name it, with the port if there is one; _default means
	// every other registry.
	Host string `json:"host" example:"docker.io"`
	// Mirrors are the URLs tried instead, in order.
	Mirrors []string `json:"mirrors" example:"[https://mirror.example.com]"`
}

// Proxy is an HTTP proxy, and what is reached without it.
type Proxy struct {
	// HTTP is the URL of the proxy for http:// addresses. It holds no user or password: pods'
	// environments show it to everybody who may read pods.
	HTTP string `json:"http,omitempty" example:"http://proxy.example.com:3128"`
	// HTTPS is the URL of the proxy for https:// addresses; by default the one of http.
	HTTPS string `json:"https,omitempty" example:"http://proxy.example.com:3128"`
	// NoProxy are further places that are reached without the proxy: hosts, domains with what lies
	// below them (example.com), what lies below them alone (.example.com), addresses, networks.
	// localhost, the link-local network with the platform's metadata service, pods, services, the
	// cluster domain, the endpoint, an external etcd and the /24 and /64 networks of all nodes are
	// among them by themselves; the networks of pools are not known and have to be named. A network
	// does not stand for the names of hosts in it: name a registry as images do.
	NoProxy []string `json:"noProxy,omitempty"`
}
