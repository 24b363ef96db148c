package images

import (
	"maps"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
)

// eachStaticPod calls f with the static pods of all machines and a machine that has them. Machines
// of a role and an architecture without patches of their own have the same containers, so only the
// first of them counts.
func eachStaticPod(
	c *assembly.Cluster, f func(m *plan.Machine, name string, pod []byte) error,
) error {
	done := map[[2]string]bool{}
	for i := range c.Plan.Machines {
		m := &c.Plan.Machines[i]
		group := [2]string{m.Role, m.Settings.Arch}
		if len(m.Patches) > 0 {
			group[0] = m.Path
		}
		if !c.Plan.StaticPods(m) || done[group] {
			continue
		}
		done[group] = true
		pods, err := c.StaticPods(m, nil)
		if err != nil {
			return err
		}
		for _, file := range slices.Sorted(maps.Keys(pods)) {
			name := strings.TrimSuffix(path.Base(file), ".yaml")
			if err := f(m, name, pods[file]); err != nil {
				return err
			}
		}
	}
	return nil
}
