package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

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
	if f := c.files[containerdConfig]; f == nil || !strings.Contains(string(f.Content), "sandbox_image = "+tomlString(sandbox)+"\n") {
		c.fail("file %s: want the sandbox image %q, which kiln images lists; set spec.images.pause", containerdConfig, sandbox)
	}
}

// readWorkload holds the images of our Deployment and DaemonSet to the list.
func (f *facts) readWorkload(o manifests.Object) error {
	want := f.images[o.Name]
	if o.Namespace != "kube-system" || want == "" {
		return nil
	}
	var w struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(o.YAML, &w); err != nil {
		return err
	}
	for _, container := range w.Spec.Template.Spec.Containers {
		if container.Name == o.Name && container.Image != want {
			f.fail("%s %s: has the image %q, kiln images lists %q; set spec.images.%s and remove the patch", o.Kind, o.Name, container.Image, want, o.Name)
		}
	}
	return nil
}
