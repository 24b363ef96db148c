package assembly

import (
	"bytes"

	"kiln/manifests"
	"kiln/patches"
	"kiln/render/config"
	"kiln/render/plan"
)

// patchProxy returns the stream of API objects after the user's patches of KubeProxyConfiguration,
// which apply to the text in kube-proxy's ConfigMap. They come after the patches of all objects, so
// that one that replaces the whole text comes before those of its fields.
func (r *Cluster) patchProxy(stream []byte, watch Watch) ([]byte, error) {
	for _, u := range r.patches.ForObjects() {
		if !u.Names(manifests.ProxyConfiguration) {
			continue
		}
		objects, err := manifests.Read(stream)
		if err != nil {
			return nil, err
		}
		before := manifests.Proxy(objects)
		if before == nil || !u.Matches(before) {
			continue
		}
		after, err := patches.Apply(before, u.Patch)
		if err != nil {
			return nil, config.Problems{r.patches.Problem(u, err)}
		}
		if stream, err = manifests.WithProxy(objects, after); err != nil {
			return nil, err
		}
		r.patches.Record(u, !bytes.Equal(before, after))
		watch.Report(plan.Origin{Field: u.Path}, stream)
	}
	return stream, nil
}
