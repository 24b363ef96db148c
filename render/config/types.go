// Package config reads cluster.yaml: it has the type, the words and the default of each field, and
// the rules that a configuration must keep. It turns bytes into a Cluster that has all defaults and
// is valid, or into the list of everything that is wrong with them, each problem with its line and
// column. It opens no files itself: it reads those that the configuration names through an fs.FS
// that the caller gives.
//
// The comments of the fields in the files types*.go are the reference documentation of
// cluster.yaml: the JSON Schema and `kiln explain` show them. The struct tag `default` is the value
// that an absent field gets, and `enum` lists the allowed values; `table` names a list of them
// in another place. `is` names the pattern of strings, in the table formats; `or` the field that
// may stand in place of this one; `of` the program whose flags a field holds. The JSON Schema
// has all of them.
package config

// Values of apiVersion and kind.
const (
	APIVersion  = "kiln.dev/v1alpha1"
	KindCluster = "Cluster"
)

// Cluster is the whole of cluster.yaml.
type Cluster struct {
	// APIVersion is the version of this file's format.
	APIVersion string `json:"apiVersion" enum:"kiln.dev/v1alpha1"`
	// Kind says that this file describes a cluster.
	Kind string `json:"kind" enum:"Cluster"`
	// Metadata names the cluster.
	Metadata Metadata `json:"metadata" example:"{name: prod}"`
	// Spec describes the cluster.
	Spec Spec `json:"spec" example:"{kubernetesVersion: v1.36.3, nodes: […]}"`

	source *source     // the file that Parse read; nil in a Cluster that Parse did not make
	values *Values     // what its strings stand for; nil like source
	roles  *roleLayers // the settings that the machines of a role share, merged once
	warned Problems    // what this file warns of by itself
	lock   *Locked     // what machines may fetch and run; nil without a lock
	// anyArtifact allows machines to fetch what is not locked: there is no lock yet, or it has
	// problems, which are reported beside those of this file.
	anyArtifact bool
}

// Metadata names the cluster.
type Metadata struct {
	// Name is the cluster's name, an RFC 1123 label. The kubeconfigs, the file names of
	// certificates and the file name of the bundle contain it.
	Name string `json:"name" example:"prod" is:"label"`
}

// Spec describes the cluster.
type Spec struct {
	// KubernetesVersion is the full version of Kubernetes, such as v1.36.3. It is the version of
	// the control plane and, unless a layer sets kubeletVersion, of the kubelets. Minors 1.34 to
	// 1.37 are supported.
	KubernetesVersion string `json:"kubernetesVersion" example:"v1.36.3" is:"version"`
	// ImageRepository is the repository of the images of Kubernetes, etcd, CoreDNS and pause.
	ImageRepository string `json:"imageRepository,omitempty" default:"registry.k8s.io" is:"repo"`
	// Images replaces single images. The keys are components: etcd, coredns, pause, kube-proxy,
	// kube-apiserver, kube-controller-manager, kube-scheduler, kube-vip, haproxy, flannel,
	// flannel-cni-plugin. Each value is a whole image reference and may have a digest; that of
	// pause has a tag or a digest, not both. The images from kube-vip on do not come from
	// imageRepository.
	Images map[string]string `json:"images,omitempty" is:"image"`
	// Endpoint is where everything outside the control plane finds the API server. It is a host
	// name or an IP address, with an optional port (default 6443). With controlPlane.vip the
	// default is the address there. With one control plane and no vip the default is the first
	// address of that machine. docs/endpoint.md compares the ways to have an endpoint.
	Endpoint string `json:"endpoint,omitempty" is:"endpoint"`

	// Network describes the networks of pods and services.
	Network Network `json:"network,omitempty"`
	// Security says how far kiln hardens the cluster.
	Security Security `json:"security,omitempty"`
	// Secrets says how the bundle is stored.
	Secrets Secrets `json:"secrets,omitempty"`
	// Certificates says how long certificates are valid and which keys they have.
	Certificates Certificates `json:"certificates,omitempty"`
	// DNS describes the cluster's DNS service.
	DNS DNS `json:"dns,omitempty"`
	// Boot limits the waits of a machine's first boot.
	Boot Boot `json:"boot,omitempty"`

	// AcceptWarnings silences warnings, by their ids. docs/warnings.md has all of them. Write the
	// reason as a comment. An id that nothing warns of is a warning itself.
	AcceptWarnings []string `json:"acceptWarnings,omitempty" table:"warnings"`

	// Machines holds the settings of every machine. controlPlane.machines,
	// controlPlane.etcd.machines, workers.machines and each node or pool override them: the
	// narrower layer wins. Maps merge key by key. A list, the proxy and the delivery of a narrower
	// layer replace those of the wider layers.
	Machines Machine `json:"machines,omitempty"`
	// ControlPlane holds the settings of the control plane.
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`
	// Workers holds the settings of the workers.
	Workers Workers `json:"workers,omitempty"`

	// Patches change the static pods and kubelet configurations of every machine. They change API
	// objects too. kiln applies them in this order, and before the patches of narrower layers.
	Patches []Patch `json:"patches,omitempty"`
	// Addons are manifests of yours for the cluster. The first boot of the cluster applies them
	// once, after kiln's own objects: namespaces first, then definitions of custom resources, then
	// the rest, in this order.
	Addons []Addon `json:"addons,omitempty"`

	// Nodes are the machines that are known by name. Each has a document of its own.
	Nodes []Node `json:"nodes" example:"[{name: cp-1, role: control-plane, addresses: [10.0.0.5]}]"`
	// Pools are groups of worker machines that are not known by name. All machines of a pool boot
	// from one document and join with a bootstrap token. docs/pools.md
	// says how such a machine finds its name and address.
	Pools []Pool `json:"pools,omitempty"`
}

// Boot limits the waits of a machine's first boot.
type Boot struct {
	// FormationWindow is how long the machines may form a new etcd cluster. The install credential
	// is valid as long. The time begins when kiln makes the bundle, which then contains its end.
	FormationWindow Duration `json:"formationWindow,omitempty" default:"168h" is:"window"`
	// StepTimeout is how long the first boot waits for one step before it reports a fault. It goes
	// on trying after that, more slowly. Steps are the kubelet, etcd, the API server and so on,
	// pulls of images included.
	StepTimeout Duration `json:"stepTimeout,omitempty" default:"30m"`
}

// Network describes the networks of pods and services.
type Network struct {
	// PodSubnets are the networks of the pods: one, or one of each family (IPv4 and IPv6). The
	// family of the first one is the main family of the cluster.
	PodSubnets []string `json:"podSubnets,omitempty" default:"10.244.0.0/16" is:"network"`
	// ServiceSubnets are the networks of the services: one, or one of each family. The families
	// have the order of podSubnets.
	ServiceSubnets []string `json:"serviceSubnets,omitempty" default:"10.96.0.0/12" is:"network"`
	// NodeMaskSizes are the prefix lengths of one machine's part of each pod subnet. They have the
	// order of podSubnets. The default is 24 for IPv4 and 64 for IPv6. With cni flannel a part has
	// at least as many addresses as the machine may have pods (kubelet.maxPods, 110 by default).
	NodeMaskSizes []int `json:"nodeMaskSizes,omitempty"`
	// DNSDomain is the DNS domain of the cluster.
	DNSDomain string `json:"dnsDomain,omitempty" default:"cluster.local" is:"name"`
	// CNI is how pods reach each other. flannel: with Flannel, whose objects kiln renders; nothing
	// enforces a NetworkPolicy. none: you bring a CNI plugin with addons (docs/pod-networks.md).
	CNI string `json:"cni,omitempty" enum:"flannel,none" default:"flannel"`
	// Flannel are the settings of Flannel, with cni flannel. Its backend and port are for the life
	// of the cluster.
	Flannel Flannel `json:"flannel,omitempty"`
	// Encryption encrypts the packets of pods between machines, with cni flannel. wireguard: with
	// the kernel's WireGuard; it is for the life of the cluster. none: flannel.backend decides.
	Encryption string `json:"encryption,omitempty" enum:"none,wireguard" default:"none"`
	// Proxy is the mode of kube-proxy. none: there is no kube-proxy.
	Proxy string `json:"proxy,omitempty" enum:"nftables,iptables,none" default:"nftables"`
}

// Flannel are the settings of Flannel.
type Flannel struct {
	// Backend is how packets of pods travel between machines. vxlan: inside UDP packets. host-gw:
	// as they are; all machines are on one network segment, and no router of the platform is
	// between them. wireguard: encrypted by the kernel, inside UDP packets. The default is vxlan,
	// and wireguard with network.encryption.
	Backend string `json:"backend,omitempty" enum:"vxlan,host-gw,wireguard"`
	// DirectRouting sends packets as they are on one network segment, with vxlan.
	DirectRouting bool `json:"directRouting,omitempty"`
	// Port is the UDP port of vxlan, 8472 by default, or of wireguard, 51820 by default. With
	// wireguard and dual stack, packets between addresses of IPv6 go to the port after it.
	Port int `json:"port,omitempty"`
	// MTU is that of the network between the machines. Flannel subtracts what its own headers need.
	// With 0 it is that of each machine's interface. host-gw has none of its own.
	MTU int `json:"mtu,omitempty"`
}

// DNS describes the cluster's DNS service.
type DNS struct {
	// Provider is the program. none: you bring a DNS service with addons.
	Provider string `json:"provider,omitempty" enum:"coredns,none" default:"coredns"`
	// Replicas is the number of CoreDNS pods.
	Replicas int `json:"replicas,omitempty" default:"2"`
}
