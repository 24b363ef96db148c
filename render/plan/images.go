package plan

import (
	"maps"

	"kiln/render/target"
)

// images returns every component's image reference.
func images(
	repository, version string, r target.Release, overrides map[string]string,
) map[string]string {
	refs := map[string]string{}
	for i := range target.Components {
		c := &target.Components[i]
		refs[c.Name] = c.Reference(repository, version, r)
	}
	maps.Copy(refs, overrides)
	return refs
}

// ImageStep is an image reference as one origin leaves it.
type ImageStep struct {
	From Origin
	Ref  string
}

// ImageSteps returns the references of a component's image in the steps that lead to it: kiln's
// own, that from another repository, and the user's. Steps that change nothing are left out; the
// last one is the reference in Images.
func (p *Plan) ImageSteps(name string) []ImageStep {
	from := Origin{Field: "kubernetesVersion"}
	switch name {
	case target.Etcd, target.CoreDNS, target.Pause:
		from = p.ByRelease()
	case target.KubeVIP, target.HAProxy:
		from = Kiln
	}
	origins := []Origin{from, {Field: "imageRepository"}, {Field: "images." + name}}
	var steps []ImageStep
	for i, refs := range p.imageSteps {
		if ref := refs[name]; i == 0 || ref != steps[len(steps)-1].Ref {
			steps = append(steps, ImageStep{origins[i], ref})
		}
	}
	return steps
}

// UsedImages returns the references of the images that this cluster's machines run, by component.
func (p *Plan) UsedImages() map[string]string {
	used := maps.Clone(p.Images)
	if len(p.EtcdMembers) == 0 {
		delete(used, target.Etcd)
	}
	if p.Config.Spec.Network.Proxy == "none" {
		delete(used, target.KubeProxy)
	}
	if p.Config.Spec.DNS.Provider == "none" {
		delete(used, target.CoreDNS)
	}
	if !p.VIP.IsValid() {
		delete(used, target.KubeVIP)
	}
	if p.BalancerPort == 0 {
		delete(used, target.HAProxy)
	}
	return used
}
