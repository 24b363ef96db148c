package plan

import (
	"path"
	"slices"
)

// NetworkWarnings returns a sentence for each reason why pods of two machines may not reach each
// other, although the configuration is valid.
func (p *Plan) NetworkWarnings() (out []string) {
	if !p.Routed() {
		if len(p.Config.Spec.Addons) == 0 && !p.hasCNIFile() {
			out = append(out, "network.cni is none, and there are no addons: without a CNI plugin "+
				"no Node becomes Ready; bring one with addons, or apply one yourself")
		}
		return out
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

// hasCNIFile reports whether a file of the user configures a CNI plugin on some machine.
func (p *Plan) hasCNIFile() bool {
	for i := range p.Machines {
		for _, f := range p.Machines[i].Settings.Files {
			if path.Dir(path.Clean(f.Path)) == CNIConfDir {
				return true
			}
		}
	}
	return false
}
