// Package config reads cluster.yaml. It turns bytes into a Cluster that has all defaults and is
// valid, or into the list of everything that is wrong with them, each problem with its line and
// column. It opens no files itself: it reads those that the configuration names through an fs.FS
// that the caller gives.
//
// The comments of the fields in the files types*.go are the reference documentation of
// cluster.yaml: the JSON Schema and `kiln explain` show them. The struct tag `default` is the value
// that an absent field gets, and `enum` lists the allowed values.
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
	// Name is the cluster's name, an RFC 1123 label. It stands in kubeconfigs, certificates' file
	// names and the bundle's file name.
	Name string `json:"name" example:"prod"`
}

// Spec is what the cluster is.
type Spec struct {
	// KubernetesVersion is the full version of the control plane and, unless a layer says
	// otherwise, of the kubelets, such as v1.36.3. Minors 1.34 to 1.37 are known.
	KubernetesVersion string `json:"kubernetesVersion" example:"v1.36.3"`
	// ImageRepository is where the images of Kubernetes, etcd, CoreDNS and pause come from.
	ImageRepository string `json:"imageRepository,omitempty" default:"registry.k8s.io"`
	// Images overrides single images by the component's name (etcd, coredns, pause, kube-proxy,
	// kube-apiserver, kube-controller-manager, kube-scheduler, kube-vip, haproxy); a value is a
	// whole image reference and may carry a digest. Those of kube-vip and haproxy do not come from
	// imageRepository.
	Images map[string]string `json:"images,omitempty"`
	// Endpoint is where everything outside the control plane finds the API server: a host name or
	// an IP address, with an optional port (6443). With controlPlane.vip it defaults to that
	// address, else with one control plane to that machine's first address. docs/endpoint.md
	// compares the ways to have one.
	Endpoint string `json:"endpoint,omitempty"`

	Network      Network      `json:"network,omitempty"`
	Security     Security     `json:"security,omitempty"`
	Certificates Certificates `json:"certificates,omitempty"`
	DNS          DNS          `json:"dns,omitempty"`
	Boot         Boot         `json:"boot,omitempty"`

	// Machines are the settings of every machine. controlPlane.machines,
	// controlPlane.etcd.machines, workers.machines and each pool or node override them: the
	// narrower layer wins, maps merge key by key, lists and the proxy replace.
	Machines     Machine      `json:"machines,omitempty"`
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`
	Workers      Workers      `json:"workers,omitempty"`

	// Patches are applied to the static pods and kubelet configurations of every machine and to the
	// API objects, in order and before those of the narrower layers.
	Patches []Patch `json:"patches,omitempty"`
	// Addons are applied to the cluster once, at its first boot, in this order and after everything
	// else.
	Addons []Addon `json:"addons,omitempty"`

	// Nodes are the machines known by name, one document each.
	Nodes []Node `json:"nodes" example:"[{name: cp-1, role: control-plane, addresses: [10.0.0.11]}]"`
	// Pools are groups of worker machines that are not known by name: one document for many, joined
	// with a bootstrap token. They need network.cni none. docs/pools.md says how they find out
	// names and addresses.
	Pools []Pool `json:"pools,omitempty"`
}

// Boot bounds the first boot's waits.
type Boot struct {
	// FormationWindow is how long after the bundle was made a new etcd cluster may be formed and
	// the install credential is valid. It matters when the bundle is made.
	FormationWindow Duration `json:"formationWindow,omitempty" default:"168h"`
	// StepTimeout is how long the hook waits for one step (the kubelet, etcd, the API server, …),
	// image pulls included, before it stops with a reason.
	StepTimeout Duration `json:"stepTimeout,omitempty" default:"30m"`
}

// Patch is a kustomize patch: a strategic merge, or a list of JSON6902 operations with a target.
type Patch struct {
	// Patch is the patch's text.
	Patch string `json:"patch,omitempty"`
	// PatchFrom is the file beside cluster.yaml that holds the patch.
	PatchFrom string `json:"patchFrom,omitempty"`
	// Target selects what is patched; a strategic merge without target patches the object that it
	// names itself.
	Target *Target `json:"target,omitempty"`
}

// Target selects objects as kustomize does: names are anchored regular expressions, an absent field
// matches all.
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
