package target

import "strings"

// The names of the components, as in spec.images.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Etcd              = "etcd"
	CoreDNS           = "coredns"
	KubeProxy         = "kube-proxy"
	Pause             = "pause"
	KubeVIP           = "kube-vip"
	HAProxy           = "haproxy"
	Flannel           = "flannel"
	FlannelPlugin     = "flannel-cni-plugin"
)

// Component is a program that runs from an image.
type Component struct {
	Name string
	// Image is the reference of an image that does not come from Kubernetes' registry; empty for
	// the others.
	Image string
	// Tag returns the tag of an image that has a version of its own; nil if the tag is the version
	// of Kubernetes.
	Tag func(Release) string
}

// Components is the table of components.
var Components = []Component{
	{Name: Etcd, Tag: func(r Release) string { return r.Etcd }},
	{Name: CoreDNS, Tag: func(r Release) string { return r.CoreDNS }},
	{Name: Pause, Tag: func(r Release) string { return r.Pause }},
	{Name: KubeProxy},
	{Name: APIServer},
	{Name: ControllerManager},
	{Name: Scheduler},
	// kube-vip 1.2 (to 1.2.3) does not exit when it loses its Lease, so that no control plane
	// carries the address (kube-vip#1747).
	{Name: KubeVIP, Image: "ghcr.io/kube-vip/kube-vip:v1.1.2"},
	// HAProxy 3.2 has long-term support until 2030.
	{Name: HAProxy, Image: "docker.io/library/haproxy:3.2.23-alpine"},
	{Name: Flannel, Image: "ghcr.io/flannel-io/flannel:v0.28.10"},
	{Name: FlannelPlugin, Image: "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3"},
}

// ComponentNames returns the names of all components, in the order of the table.
func ComponentNames() []string {
	names := make([]string, len(Components))
	for i := range Components {
		names[i] = Components[i].Name
	}
	return names
}

// KubernetesRegistry has the images of Kubernetes without spec.imageRepository.
const KubernetesRegistry = "registry.k8s.io"

// Reference returns a component's image for a version such as v1.36.3 and its release.
func (c *Component) Reference(repository, version string, r Release) string {
	if c.Image != "" {
		return c.Image
	}
	name, tag := c.Name, strings.ReplaceAll(version, "+", "_") // a tag cannot hold a "+"
	// The default repository alone has CoreDNS in a folder of its own (kubeadm 1.36.3:
	// cmd/kubeadm/app/images/images.go, GetDNSImage).
	if name == CoreDNS && repository == KubernetesRegistry {
		name = "coredns/coredns"
	}
	if c.Tag != nil {
		tag = c.Tag(r)
	}
	return repository + "/" + name + ":" + tag
}
