package review

import (
	"slices"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/secret"
)

// Unmarked returns the paths of the user's files that a twin shows whole, and that give a value to
// a name like PASSWORD: kiln unpack hides them, and whoever reads the twin reads the value.
func Unmarked(c *assembly.Cluster) (paths []string) {
	for i := range c.Plan.Machines {
		for _, f := range c.Plan.Machines[i].Settings.Files {
			content := []byte(f.Content)
			if f.ContentFrom != "" {
				content = c.Plan.Config.Text(f.ContentFrom)
			}
			file := &node.File{Path: f.Path, Content: content}
			if !f.Secret && secret.AssignsSecret(file) && !slices.Contains(paths, f.Path) {
				paths = append(paths, f.Path)
			}
		}
	}
	return paths
}
