package plan

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Release is what a minor release of Kubernetes decides: the tags of the images that kubeadm deploys with it and the
// differences in flags and defaults. An unknown patch release of a known minor uses its minor's row.
type Release struct {
	Minor   int    // 36 for 1.36
	Etcd    string // tag of the etcd image
	CoreDNS string
	Pause   string

	// FlexVolume says that the controller-manager still mounts the flexvolume plugin folder by default, under /usr,
	// which is read-only on immutable systems (kubeadm#2031): the flag has to move it. Gone in 1.36.
	FlexVolume bool
}

// releases is the table of known minors, read from the constants of kubeadm 1.34.4, 1.35.4, 1.36.3 and 1.37.1.
var releases = []Release{
	{Minor: 34, Etcd: "3.6.5-0", CoreDNS: "v1.12.1", Pause: "3.10.1", FlexVolume: true},
	{Minor: 35, Etcd: "3.6.6-0", CoreDNS: "v1.13.1", Pause: "3.10.1", FlexVolume: true},
	{Minor: 36, Etcd: "3.6.8-0", CoreDNS: "v1.14.2", Pause: "3.10.2"},
	{Minor: 37, Etcd: "3.7.0-0", CoreDNS: "v1.14.6", Pause: "3.10.2"},
}

// release returns the row of a version such as v1.36.3.
func release(version string) (Release, error) {
	minor := minorOf(version)
	for _, r := range releases {
		if r.Minor == minor {
			return r, nil
		}
	}
	return Release{}, fmt.Errorf("kubernetes %s is not in the table of known releases", version)
}

// minorOf returns 36 for v1.36.3, and 0 for what is no version.
func minorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return minor
}

// Names of the components that run from images, as in Images and in spec.images.
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
)

// What does not come from Kubernetes' own registry. kube-vip 1.2 (to 1.2.3) stays silent when it loses its Lease, so that
// nobody carries the address (kube-vip#1747). HAProxy 3.2 has long-term support until 2030.
const (
	kubeVIPImage = "ghcr.io/kube-vip/kube-vip:v1.1.2"
	haproxyImage = "docker.io/library/haproxy:3.2.23-alpine"
)

// images returns every component's image reference.
func images(repository, version string, r Release, overrides map[string]string) map[string]string {
	// The doubled "coredns/" belongs to the default repository only (kubeadm.md §3.11). A "+" cannot stand in a tag.
	coredns := "coredns"
	if repository == defaultRepository {
		coredns = "coredns/coredns"
	}
	tag := strings.ReplaceAll(version, "+", "_")
	refs := map[string]string{
		APIServer:         repository + "/kube-apiserver:" + tag,
		ControllerManager: repository + "/kube-controller-manager:" + tag,
		Scheduler:         repository + "/kube-scheduler:" + tag,
		KubeProxy:         repository + "/kube-proxy:" + tag,
		Etcd:              repository + "/etcd:" + r.Etcd,
		CoreDNS:           repository + "/" + coredns + ":" + r.CoreDNS,
		Pause:             repository + "/pause:" + r.Pause,
		KubeVIP:           kubeVIPImage,
		HAProxy:           haproxyImage,
	}
	for name, ref := range overrides {
		refs[name] = ref
	}
	return refs
}

// ImageStep is an image reference as one of those who decide about it leaves it.
type ImageStep struct {
	From Origin
	Ref  string
}

// ImageSteps returns the references of a component's image in the steps that lead to it; the last is the one in Images.
func (p *Plan) ImageSteps(name string) []ImageStep {
	from := Origin{Field: "kubernetesVersion"}
	switch name {
	case Etcd, CoreDNS, Pause:
		from = p.ByRelease()
	case KubeVIP, HAProxy:
		from = Kiln
	}
	var steps []ImageStep
	for i, refs := range p.imageSteps {
		if ref := refs[name]; i == 0 || ref != steps[len(steps)-1].Ref {
			steps = append(steps, ImageStep{[]Origin{from, {Field: "imageRepository"}, {Field: "images." + name}}[i], ref})
		}
	}
	return steps
}

const defaultRepository = "registry.k8s.io"

// UsedImages returns the references of the images that this cluster's machines run, by component.
func (p *Plan) UsedImages() map[string]string {
	used := maps.Clone(p.Images)
	if len(p.EtcdMembers) == 0 {
		delete(used, Etcd)
	}
	if p.Config.Spec.Network.Proxy == "none" {
		delete(used, KubeProxy)
	}
	if p.Config.Spec.DNS.Provider == "none" {
		delete(used, CoreDNS)
	}
	if !p.VIP.IsValid() {
		delete(used, KubeVIP)
	}
	if p.BalancerPort == 0 {
		delete(used, HAProxy)
	}
	return used
}
