package plan

import "slices"

// NetworkWarnings returns a sentence for each reason why pods of two machines may not reach each
// other with cni routed, or a machine a mirror, although the configuration is valid.
func (p *Plan) NetworkWarnings() []string { return append(p.podWarnings(), p.mirrorWarnings()...) }

func (p *Plan) podWarnings() (out []string) {
	if !p.Routed() {
		return nil
	}
	joining := 0
	var platforms []string
	for i := range p.Machines {
		m := &p.Machines[i]
		if !m.Joins() {
			continue
		}
		joining++
		if m.Platform.PodRoutes != nil && !slices.Contains(platforms, m.Platform.Name) {
			platforms = append(platforms, m.Platform.Name)
			out = append(out, m.Platform.Name+": pods of two machines reach each other only with "+
				m.Platform.PodRoutes.Text)
		}
	}
	if joining < 2 {
		return nil
	}
	return out
}
