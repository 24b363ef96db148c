package assembly

import (
	"maps"
	"slices"

	"kiln.dev/kiln/pki"
)

// IdleGenerations returns the names among the bundle's generations that belong to no secret of this
// cluster, sorted. Such a name is misspelt, or its machine is gone.
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
		names[pki.AnnounceName(m)] = m.Announces()
		if m.Pool {
			names[pki.TokenName(m.Name)] = true
		}
	}
	all := slices.Sorted(maps.Keys(r.Public.Generations))
	return slices.DeleteFunc(all, func(name string) bool { return names[name] })
}

// IdleRenewals returns the names among the bundle's renewals that are no machine of this cluster,
// sorted. Such a name is misspelt, or its machine is gone.
func (r *Cluster) IdleRenewals() []string {
	named := map[string]bool{}
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; !m.Pool {
			named[m.Name] = true
		}
	}
	all := slices.Sorted(maps.Keys(r.Public.Renewals))
	return slices.DeleteFunc(all, func(name string) bool { return named[name] })
}
