package assembly

import (
	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
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
		if before == nil {
			continue
		}
		proxy, err := patches.Read(before)
		if err != nil {
			return nil, err
		}
		effect, err := proxy.Apply(u.Patch)
		if err == nil && !effect.Matched {
			continue
		}
		var after []byte
		if err == nil {
			after, err = proxy.Bytes()
		}
		if err != nil {
			return nil, config.Problems{r.patches.Problem(u, err)}
		}
		if stream, err = manifests.WithProxy(objects, after); err != nil {
			return nil, err
		}
		r.patches.Record(u, effect.Changed)
		watch.Report(plan.Origin{Field: u.Path}, stream)
	}
	return stream, nil
}
