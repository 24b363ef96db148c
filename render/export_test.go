package render

import "kiln/manifests"

// EditObjects changes what the API server is to hold. It must be called before any machine is checked.
func (r *Cluster) EditObjects(edit func([]manifests.Object) []manifests.Object) {
	r.objects = edit(r.objects)
}
