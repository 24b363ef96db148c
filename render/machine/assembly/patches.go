package assembly

import (
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/plan"
)

// Watch is called after each stage that a stream of documents goes through.
type Watch = PatchWatch

// HasPatches reports whether the configuration has patches for a machine.
func (r *Cluster) HasPatches(m *plan.Machine) bool { return len(r.patches.ForMachine(m)) > 0 }

// PatchText returns the content of the user's patch at a field of the configuration. It reports
// whether there is one.
func (r *Cluster) PatchText(field string) (content string, ok bool) {
	for _, u := range r.patches.All() {
		if u.Path == field {
			return u.Text, true
		}
	}
	return "", false
}

// PatchWith returns the field of the last patch for a machine whose text has a part, and whether
// there is one.
func (r *Cluster) PatchWith(m *plan.Machine, part string) (field string, ok bool) {
	for _, u := range slices.Backward(r.patches.ForMachine(m)) {
		if strings.Contains(u.Text, part) {
			return u.Path, true
		}
	}
	return "", false
}

// patched returns the objects of a source with kiln's own values and the user's patches for m.
func (r *Cluster) patched(
	src manifests.Source, m *plan.Machine, watch Watch,
) ([]manifests.Object, error) {
	out, err := r.patches.Apply(src, r.patches.ForMachine(m), watch)
	if err != nil {
		return nil, err
	}
	return manifests.Read(out)
}
