package assembly

import (
	"time"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// Later has functions of wings above this one, whose results belong to a machine.
type Later struct {
	// Translate returns the parts of a machine that a Butane snippet describes.
	Translate func(snippet string) (node.Node, error)
	// Digest returns the digest of what a review twin shows of a machine, whose document ends at
	// until.
	Digest func(p *plan.Plan, m *plan.Machine, until time.Time, n *node.Node) string
}
