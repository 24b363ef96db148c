package pki

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/plan"
)

// RotationFact is how the name of the fact about a root begins, in a review twin and in the
// inventory. The root's name follows.
const RotationFact = "rotation "

// ExternalFact is the name of the fact that lists the CAs whose keys are not in the bundle.
const ExternalFact = "external CAs"

// Facts returns a fact for each root that was rotated: its state; and one for all CAs whose keys
// are not in the bundle.
func (p *Public) Facts() (facts []plan.Fact) {
	for _, root := range Roots() {
		if p.Rotations[root] != nil {
			facts = append(facts, plan.Fact{
				Name: RotationFact + string(root), Value: p.Rotation(root).String(),
			})
		}
	}
	if external := p.ExternalCAs(); external != "" {
		facts = append(facts, plan.Fact{Name: ExternalFact, Value: external})
	}
	return facts
}

// ParseRotations returns the states of the roots that were rotated, as Facts has them, by the names
// of the roots. It fails if there is a state that kiln does not write.
func ParseRotations(facts []plan.Fact) (map[string]*Rotation, error) {
	rotations := map[string]*Rotation{}
	for _, fact := range facts {
		root, ok := strings.CutPrefix(fact.Name, RotationFact)
		if !ok {
			continue
		}
		r, err := ParseRotation(fact.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: this is no inventory of kiln's", fact.Name, err)
		}
		rotations[root] = &r
	}
	return rotations, nil
}

// ExternalCAs returns the names of the CAs whose keys are not in the bundle, separated by commas.
func (p *Public) ExternalCAs() string {
	var roots []string
	for _, root := range p.External.Roots {
		roots = append(roots, string(root))
	}
	return strings.Join(roots, ",")
}
