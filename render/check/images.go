package check

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/containerd"
	"kiln.dev/kiln/render/plan"
)

// checkImages checks that kiln's programs on the machine run the images that the configuration
// gives them, and every static pod those of the lock.
func (c *inspection) checkImages() {
	for _, p := range c.programs {
		if !c.facts.pinned(p.Image) {
			c.fail("%s: the image %q has not the digest of the lock", p, p.Image)
		}
		want := c.facts.images[p.Name]
		if p.Name == p.Pod.Name && want != "" && p.Image != want {
			c.fail("%s: has the image %q, kiln images lists %q; "+
				"set spec.images.%s and remove the patch", p, p.Image, want, p.Name)
		}
	}
	sandbox, err := "", errors.New("missing")
	if f := c.tree.Exact(plan.ContainerdConfig); f != nil {
		sandbox, err = readOnce(&c.facts.sandboxes, f.Content, containerd.SandboxImage)
	}
	if want := c.facts.images[target.Pause]; err != nil || sandbox != want {
		c.fail("file %s: want the sandbox image %q, which kiln images lists; set spec.images.pause",
			plan.ContainerdConfig, want)
	}
}

func (f *facts) pinned(reference string) bool {
	want, problem := f.cluster.Plan.Config.Pinned(reference)
	return problem == "" && want == reference
}

// checkWorkloads checks that kiln's Deployment and DaemonSet run the images that kiln images
// prints, and all objects those of the lock.
func (f *facts) checkWorkloads() {
	for _, o := range f.cluster.Objects {
		for _, image := range o.Images() {
			if !f.pinned(image.Reference) {
				f.fail("%s %s: %s: the image %q has not the digest of the lock",
					o.Kind, o.Name, image.User, image.Reference)
			}
		}
		if problem := misplaced(o); problem != "" {
			f.fail("%s %s: %s; remove the patch that changes it", o.Kind, o.Name, problem)
		}
		want := f.images[o.Name]
		isWorkload := o.Kind == "Deployment" || o.Kind == "DaemonSet"
		if !isWorkload || o.Namespace != "kube-system" || want == "" {
			continue
		}
		template, err := o.PodTemplate()
		if err != nil {
			f.fail("%s %s: %w", o.Kind, o.Name, err)
			continue
		}
		for _, container := range template.Spec.Containers {
			if container.Name == o.Name && container.Image != want {
				f.fail("%s %s: has the image %q, kiln images lists %q; "+
					"set spec.images.%s and remove the patch",
					o.Kind, o.Name, container.Image, want, o.Name)
			}
		}
	}
}

func misplaced(o manifests.Object) string {
	var w appsv1.Deployment // whose fields a DaemonSet has too, save the replicas
	_ = o.Decode(&w)
	pod, replicas := &w.Spec.Template.Spec, w.Spec.Replicas
	switch id := o.Kind + " " + o.Namespace + "/" + o.Name; {
	case id == "Deployment kube-system/coredns" && replicas != nil && *replicas == 0:
		return "has no replicas, so that nothing answers names"
	case id != "DaemonSet kube-system/kube-proxy" && id != "DaemonSet kube-flannel/kube-flannel-ds":
	case !pod.HostNetwork:
		return "sets up the network of its machine, and is not in it without hostNetwork"
	case len(pod.Tolerations) == 0:
		return "tolerates no taint, and control planes, and machines that are not ready, have some"
	}
	return ""
}
