// Package images lists the container images that the machines of a cluster pull, so that a mirror
// made from the list is complete, and finds those that the lock does not have. It reads them from
// the finished static pods and API objects.
package images

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
)

// Image is an image, and who pulls it.
type Image struct {
	// User is a component of kiln, a container of another object or static pod, or an entry of
	// addons that lists the image; the first of them if there are several. No two images have one
	// user: where machines have different images for one container, the later ones are numbered.
	User      string
	Reference string
	// Arches are the architectures of the machines that may run it, sorted.
	Arches []string
	// Every reports whether all of those machines run it, if they run its pod at all. An add-on may
	// keep its pods to some of them.
	Every bool
}

// List returns all images that the machines pull. It fails if a patch of the user cannot be
// applied.
func List(c *assembly.Cluster) ([]Image, error) {
	l := list{at: map[string]int{}, users: map[string]int{}}
	var all []string
	for i := range c.Plan.Machines {
		all = append(all, c.Plan.Machines[i].Settings.Arch)
	}
	used := c.Plan.UsedImages()
	for _, name := range target.ComponentNames() {
		switch reference := used[name]; name {
		case target.Pause, target.KubeProxy, target.CoreDNS, target.Flannel, target.FlannelPlugin:
			l.add(name, reference, true, all...)
		default: // a static pod, whose machines are found below
			l.add(name, reference, true)
		}
	}
	err := eachStaticPod(c, func(m *plan.Machine, _, name string, pod []byte) error {
		images, err := manifests.Images(pod)
		if err != nil {
			return fmt.Errorf("static pod %s: %w", name, err)
		}
		l.collect("static pod "+name, images, true, m.Settings.Arch)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, o := range c.Objects {
		name := o.Kind + " " + o.Name
		if o.Namespace != "" {
			name = o.Kind + " " + o.Namespace + "/" + o.Name
		}
		l.collect(name, o.Images(), false, all...)
	}
	for i, addon := range c.Plan.Config.Spec.Addons {
		for j, reference := range addon.Images {
			reference, _ = c.Plan.Config.Pinned(reference)
			l.add(fmt.Sprintf("addons[%d].images[%d]", i, j), reference, false, all...)
		}
	}
	return l.images, nil
}

// list collects images, each once.
type list struct {
	images []Image
	at     map[string]int // the index of a reference
	users  map[string]int // the number of images of a user
}

// add adds an image, or architectures to one that is there.
func (l *list) add(user, reference string, every bool, arches ...string) {
	if reference == "" {
		return
	}
	i, ok := l.at[reference]
	if !ok {
		i = len(l.images)
		l.at[reference] = i
		if l.users[user]++; l.users[user] > 1 {
			user = fmt.Sprintf("%s (%d)", user, l.users[user])
		}
		l.images = append(l.images, Image{User: user, Reference: reference, Every: every})
	}
	image := &l.images[i]
	image.Arches = append(image.Arches, arches...)
	slices.Sort(image.Arches)
	image.Arches = slices.Compact(image.Arches)
}

// collect adds the images of an object.
func (l *list) collect(object string, images []manifests.Image, every bool, arches ...string) {
	for _, image := range images {
		l.add(object+": "+image.User, image.Reference, every, arches...)
	}
}

// Unlisted returns the add-ons, as addons[0], that name no images and have objects of a kind that a
// program defines: it may pull images that nothing here names.
func Unlisted(c *assembly.Cluster) (fields []string) {
	for _, o := range c.Objects {
		field := strings.TrimSuffix(c.ObjectField(o), ".path")
		if o.Asked && !c.Plan.Config.Has(field+".images") && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}
