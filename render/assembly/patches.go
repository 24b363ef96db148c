package assembly

import (
	"kiln/manifests"
	"kiln/render/plan"
)

// PatchText returns the content of the user's patch at a field of the configuration. It reports
// whether there is one.
func (r *Cluster) PatchText(field string) (content string, ok bool) {
	for _, u := range r.patches.all {
		if u.path == field {
			return u.Text, true
		}
	}
	return "", false
}

// patched returns the objects of a source with kiln's own values and the user's patches for m.
func (r *Cluster) patched(
	src manifests.Source, m *plan.Machine, watch Watch,
) ([]manifests.Object, error) {
	out, err := r.patches.apply(src, r.patches.forMachine(m), watch)
	if err != nil {
		return nil, err
	}
	return manifests.Read(out)
}
