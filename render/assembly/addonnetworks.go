package assembly

import (
	"kiln/render/addons/networks"
	"kiln/render/config"
)

// podNetworks returns a problem for each object with which the pods' network cannot work. addon
// holds the index of an object's add-on by its path.
func (r *Cluster) podNetworks(addon map[string]int) (problems config.Problems) {
	for _, finding := range networks.Check(r.Plan, r.Objects) {
		problems = append(problems, r.Plan.Config.Problemf(
			addonPath(addon, finding.Object), "%s", finding.Message))
	}
	return problems
}
