package images

import (
	"cmp"
	"fmt"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
)

// Unpinned returns a problem for each image that the lock does not have, or has with another
// digest: those of kiln, of objects, of static pods, and those that add-ons name.
func Unpinned(r *assembly.Cluster) (problems config.Problems) {
	c := r.Plan.Config
	if !c.PinsImages() {
		return nil
	}
	seen := map[string]bool{}
	add := func(field, user, reference string) {
		_, problem := c.Pinned(reference)
		if problem == "" || seen[reference] {
			return
		}
		seen[reference] = true
		problems = append(problems, c.Problemf(field, "%s: %s", user, problem))
	}
	used := r.Plan.UsedImages()
	for _, name := range target.ComponentNames() {
		if reference := used[name]; reference != "" {
			field := "images." + name
			if !c.Has(field) {
				field = "kubernetesVersion"
			}
			add(field, name, reference)
		}
	}
	err := eachStaticPod(r, func(m *plan.Machine, field, name string, pod []byte) error {
		images, err := manifests.Images(pod)
		for _, image := range images {
			written, _ := target.SplitDigest(image.Reference)
			by, ok := r.PatchWith(m, written)
			if !ok {
				by = cmp.Or(field, m.Path)
			}
			add(by, "static pod "+name+": "+image.User, image.Reference)
		}
		return err
	})
	if err != nil {
		problems = append(problems, c.Problemf("patches", "%s", err))
	}
	for _, o := range r.Objects {
		for _, image := range o.Images() {
			add(r.ObjectField(o), o.Kind+" "+o.Name+": "+image.User, image.Reference)
		}
	}
	for i, addon := range c.Spec.Addons {
		for j, reference := range addon.Images {
			field := fmt.Sprintf("addons[%d].images[%d]", i, j)
			add(field, "listed by the add-on", reference)
		}
	}
	return problems
}
