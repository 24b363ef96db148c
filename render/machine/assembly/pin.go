package assembly

import (
	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/text/yamltext"
)

// pin returns a stream whose images have the digests of the lock, if the lock has images. What the
// lock does not have stays, and images.Unpinned refuses it.
func (r *Cluster) pin(stream []byte, watch Watch) ([]byte, error) {
	c := r.Plan.Config
	if !c.PinsImages() {
		return stream, nil
	}
	var out [][]byte
	for _, object := range yamltext.Split(stream) {
		text, err := manifests.WithImages(object, func(image manifests.Image) string {
			pinned, _ := c.Pinned(image.Reference)
			return pinned
		})
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	stream = manifests.Join(out...)
	watch.Report(r.Plan.ByLock(), stream)
	return stream, nil
}
