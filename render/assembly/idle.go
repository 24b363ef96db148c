package assembly

import (
	"maps"
	"slices"

	"kiln/pki"
)

// IdleGenerations returns the names in the bundle's generations whose secret nothing of this
// cluster has, sorted: those of a machine that is gone, or of a name that is misspelt.
func (r *Cluster) IdleGenerations() []string {
	if len(r.Public.Generations) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, name := range pki.ClusterSecrets() {
		names[name] = true
	}
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		for _, spec := range r.Public.Specs(r.Plan, m) {
			names[spec.Name] = true
		}
		if m.Token {
			names[pki.TokenName(m)] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Public.Generations)), func(name string) bool { return names[name] })
}
