package config

import (
	"fmt"
	"slices"

	"kiln.dev/kiln/render/facts/target"
)

// PinsImages reports whether the lock of the cluster names the content of every image.
func (c *Cluster) PinsImages() bool { return c.lock != nil && c.lock.Images != nil }

// Pinned returns the reference of an image with the digest that the lock has for it. A reference
// with a digest stays, and so does each one if the lock has no images. problem says why machines
// may not run the image, "" if they may.
func (c *Cluster) Pinned(reference string) (pinned, problem string) {
	if !c.PinsImages() {
		return reference, ""
	}
	lock, _ := c.LockName()
	name, digest := target.SplitDigest(reference)
	i := slices.IndexFunc(c.lock.Images, func(i target.Image) bool { return i.Name == name })
	switch {
	case i < 0 && digest == "":
		return reference, fmt.Sprintf("image %s: not in %s, which lists all images that machines "+
			"may run; kiln lock%s adds it", reference, lock, c.Flag())
	case i < 0:
		return reference, ""
	case digest == "":
		return name + "@" + c.lock.Images[i].Digest, ""
	case digest != c.lock.Images[i].Digest:
		return reference, fmt.Sprintf("image %s: %s has another digest for %s, %s; correct one of "+
			"them", reference, lock, name, c.lock.Images[i].Digest)
	}
	return reference, ""
}
