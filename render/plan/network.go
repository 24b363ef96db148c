package plan

import "slices"

// Ways in which the packets of pods travel to another machine.
const (
	WayDirect = "direct" // as they are
	WayVXLAN  = "vxlan"  // inside UDP packets
	WayAuto   = "auto"   // directly to machines on the same network segment, with VXLAN to others
)

// PodWay returns how the packets of pods leave the machine with cni routed, and why.
func (p *Plan) PodWay(m *Machine) (way, why string) {
	switch {
	case p.Config.Spec.Network.VXLAN == "always":
		return WayVXLAN, "network.vxlan is always"
	case p.Config.Spec.Network.VXLAN == "never":
		return WayDirect, "network.vxlan is never"
	case m.Platform.PodRoutes != nil && m.Platform.PodRoutes.Never:
		return WayVXLAN, m.Platform.Name + ": " + m.Platform.PodRoutes.Text
	case m.Platform.PodRoutes != nil:
		return WayVXLAN, m.Platform.Name + " drops the packets of pods, unless it has " +
			m.Platform.PodRoutes.Text
	}
	return WayAuto, "direct on one network segment, else VXLAN"
}

// NetworkWarnings returns a sentence for each reason why pods of two machines may not reach each
// other with cni routed, or a machine a mirror, although the configuration is valid.
func (p *Plan) NetworkWarnings() []string { return append(p.podWarnings(), p.mirrorWarnings()...) }

func (p *Plan) podWarnings() (out []string) {
	if !p.Routed() || p.Config.Spec.Network.VXLAN != "never" {
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
		if m.Pool { // the document is for several
			joining++
		}
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
