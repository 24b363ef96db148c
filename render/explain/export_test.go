package explain

import (
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// Values returns a function that explains the values in a file of m by their keys, as Explain does.
// It returns nil for a file without a pipeline.
func (r *Explainer) Values(m *plan.Machine, f *node.File) (
	func(key string) (*config.Setting, error), error,
) {
	stages, err := r.history(m, f)
	if err != nil || len(stages) == 0 || !stages[0].fromPipe {
		return nil, err
	}
	return func(key string) (*config.Setting, error) { return valueAt(f, key, stages) }, nil
}
