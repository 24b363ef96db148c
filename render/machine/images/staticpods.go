package images

import (
	"maps"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/yamltext"
)

// eachStaticPod calls f with the static pods of all machines and a machine that has them; field is
// that of the user's file, empty for kiln's own pods. Machines of a role and an architecture
// without patches of their own have the same pods of kiln's, so only the first of them counts.
func eachStaticPod(
	c *assembly.Cluster, f func(m *plan.Machine, field, name string, pod []byte) error,
) error {
	done := map[[2]string]bool{}
	for i := range c.Plan.Machines {
		m := &c.Plan.Machines[i]
		own := c.OwnPods(m)
		for _, field := range slices.Sorted(maps.Keys(own)) {
			file := [2]string{field, m.Settings.Arch}
			if done[file] || yamltext.Object.Check(own[field]) != nil {
				continue // package check says why it cannot be read
			}
			done[file] = true
			if err := f(m, field, field, own[field]); err != nil {
				return err
			}
		}
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
			if err := f(m, "", name, pods[file]); err != nil {
				return err
			}
		}
	}
	return nil
}
