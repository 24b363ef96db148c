package explain

import (
	"path"

	"kiln/render/assembly"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// Values returns a function that explains the values in a file of m by their keys, as Explain does.
// Each pipeline runs once, whatever files it makes. The function returns nil for a file without a
// pipeline.
func Values(
	c *assembly.Cluster, m *plan.Machine,
) func(f *node.File) (func(key string) (*config.Setting, error), error) {
	r := explainer{c}
	ran := map[string][]version{}
	return func(f *node.File) (func(key string) (*config.Setting, error), error) {
		p := r.pipeline(m, f.Path)
		if p == nil {
			return nil, nil
		}
		dir := path.Dir(f.Path)
		if ran[dir] == nil {
			var err error
			if ran[dir], err = p.versions(); err != nil {
				return nil, err
			}
		}
		stages, err := r.stages(p, ran[dir])
		return func(key string) (*config.Setting, error) { return valueAt(f, key, stages) }, err
	}
}
