package render

import (
	"strings"

	"kiln/manifests"
	"kiln/render/plan"
)

// images: what the machine runs is what kiln images prints, so that a mirror made from that list is whole. Containers
// that the user adds are the user's to mirror.
func (c *checker) images() {
	for _, p := range c.programs {
		if want := c.facts.images[p.Name]; p.Name == p.pod.Name && want != "" && p.Image != want {
			c.fail("%s: has the image %q, kiln images lists %q; set spec.images.%s and remove the patch", p, p.Image, want, p.Name)
		}
	}
	sandbox := c.facts.images[plan.Pause]
	if f := c.files[plan.ContainerdConfig]; f == nil || !strings.Contains(string(f.Content), "sandbox_image = "+tomlString(sandbox)+"\n") {
		c.fail("file %s: want the sandbox image %q, which kiln images lists; set spec.images.pause", plan.ContainerdConfig, sandbox)
	}
}

// readWorkload holds the images of our Deployment and DaemonSet to the list.
func (f *facts) readWorkload(o manifests.Object) error {
	want := f.images[o.Name]
	if o.Namespace != "kube-system" || want == "" {
		return nil
	}
	template, err := manifests.PodTemplate(o.Kind, o.YAML)
	if template == nil || err != nil {
		return err
	}
	for _, container := range template.Spec.Containers {
		if container.Name == o.Name && container.Image != want {
			f.fail("%s %s: has the image %q, kiln images lists %q; set spec.images.%s and remove the patch", o.Kind, o.Name, container.Image, want, o.Name)
		}
	}
	return nil
}
