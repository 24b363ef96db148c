package assembly

import (
	"kiln/render/config"
	"kiln/render/podsecurity"
)

// podSecurity returns a problem for each object whose pods the API server would refuse. addon holds
// the index of an object's add-on by its path.
func (r *Cluster) podSecurity(addon map[string]int) (problems config.Problems) {
	c := r.Plan.Config
	refusals, err := podsecurity.Refusals(r.Objects, &c.Spec.Security.PodSecurity)
	if err != nil {
		return config.Problems{c.Problemf("", "%s", err)}
	}
	for _, refusal := range refusals {
		problems = append(problems,
			c.Problemf(addonPath(addon, refusal.Object), "%s", refusal.Message))
	}
	return problems
}
