package explain

import (
	"sync"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
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
	for i := range stages {
		stages[i].doc = sync.OnceValue(stages[i].doc)
	}
	return func(key string) (*config.Setting, error) { return valueAt(f, key, stages) }, nil
}
