// Package images lists the container images that the machines of a cluster pull, so that a mirror
// made from the list is complete. It reads them from the finished static pods and API objects.
package images

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kiln/manifests"
	"kiln/render/assembly"
	"kiln/render/config"
)

// List returns the references of all images that the machines pull, by their users: the
// components of kiln by name, the containers of other objects and static pods, and the images that
// the entries of addons list. An image with several users is there for the first of them. It fails
// if a patch of the user cannot be applied.
func List(c *assembly.Cluster) (map[string]string, error) {
	images := c.Plan.UsedImages()
	known := map[string]bool{}
	for _, reference := range images {
		known[reference] = true
	}
	add := func(user, reference string) {
		if !known[reference] {
			known[reference], images[user] = true, reference
		}
	}
	collect := func(object string, data []byte) error {
		list, err := manifests.Images(data)
		if err != nil {
			return fmt.Errorf("%s: %w", object, err)
		}
		for _, image := range list {
			add(object+": "+image.User, image.Reference)
		}
		return nil
	}
	if err := eachStaticPod(c, collect); err != nil {
		return nil, err
	}
	for _, o := range c.Objects {
		name := o.Kind + " " + o.Name
		if o.Namespace != "" {
			name = o.Kind + " " + o.Namespace + "/" + o.Name
		}
		if err := collect(name, o.YAML); err != nil {
			return nil, err
		}
	}
	for i, addon := range c.Plan.Config.Spec.Addons {
		for j, reference := range addon.Images {
			add(fmt.Sprintf("addons[%d].images[%d]", i, j), reference)
		}
	}
	return images, nil
}

// eachStaticPod calls f with the static pods of all machines. Machines of a role without patches of
// their own have the same containers, so only the first of them counts.
func eachStaticPod(c *assembly.Cluster, f func(name string, pod []byte) error) error {
	patched, done := patchedMachines(&c.Plan.Config.Spec), map[string]bool{}
	for i := range c.Plan.Machines {
		m := &c.Plan.Machines[i]
		group := m.Role
		if patched[m.Path] {
			group = m.Path
		}
		if !c.Plan.StaticPods(m) || done[group] {
			continue
		}
		done[group] = true
		pods, err := c.StaticPods(m, nil)
		if err != nil {
			return err
		}
		for _, file := range slices.Sorted(maps.Keys(pods)) {
			name := strings.TrimSuffix(path.Base(file), ".yaml")
			if err := f("static pod "+name, pods[file]); err != nil {
				return err
			}
		}
	}
	return nil
}

// patchedMachines returns the nodes and pools that have patches of their own, by their paths in the
// configuration.
func patchedMachines(spec *config.Spec) map[string]bool {
	patched := map[string]bool{}
	for i := range spec.Nodes {
		patched[fmt.Sprintf("nodes[%d]", i)] = len(spec.Nodes[i].Patches) > 0
	}
	for i := range spec.Pools {
		patched[fmt.Sprintf("pools[%d]", i)] = len(spec.Pools[i].Patches) > 0
	}
	return patched
}
