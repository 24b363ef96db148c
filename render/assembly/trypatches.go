package assembly

import (
	"fmt"

	"kiln/render/config"
	"kiln/render/plan"
)

// tryPatches applies every patch once, so that New finds a patch without effect, whatever machines
// are rendered later. The first worker and the first etcd machine without patches of their own
// stand for all others of their role.
func (r *Cluster) tryPatches() (problems config.Problems) {
	if len(r.patches.all) == 0 {
		return nil
	}
	tried := map[string]bool{}
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		if len(r.patches.machines[m.Path]) == 0 && !m.ControlPlane() {
			if tried[m.Role] {
				continue
			}
			tried[m.Role] = true
		}
		if err := r.tryMachine(m); err != nil {
			return config.Problems{r.Plan.Config.Problemf(m.Path, "%s", err)}
		}
	}
	for _, u := range r.patches.all {
		name := fmt.Sprintf("patch %q", u.Name)
		switch {
		case !u.matched:
			problems = append(problems, r.Plan.Config.Problemf(u.path,
				"%s matches no object; a patch must name an object that kiln renders in this "+
					"layer: see kiln explain patches", name))
		case !u.changed:
			problems = append(problems, r.Plan.Config.Problemf(u.path,
				"%s changes nothing: what it sets is so already; "+
					"remove it, or correct the field that it sets", name))
		}
	}
	return problems
}

// tryMachine applies the patches for m to every document that they may match.
func (r *Cluster) tryMachine(m *plan.Machine) error {
	if r.Plan.StaticPods(m) {
		if _, err := r.StaticPods(m, nil); err != nil {
			return err
		}
	}
	if m.ControlPlane() {
		if _, err := r.APIServerSettings(m, nil); err != nil {
			return err
		}
	}
	_, err := r.KubeletConfig(m, nil)
	return err
}
