package plan

import "slices"

// Ways in which the packets of pods travel to another machine.
const (
	WayDirect = "direct" // as they are
	WayVXLAN  = "vxlan"  // inside UDP packets
	WayAuto   = "auto"   // directly to machines on the same network segment, with VXLAN to others

	WayWireGuard = "wireguard" // encrypted, inside UDP packets
)

// Encrypted reports whether machines encrypt the packets of pods.
func (p *Plan) Encrypted() bool { return p.Config.Spec.Network.Encryption == WayWireGuard }

// HasWireGuardKey reports whether m encrypts packets of pods with a key from its document. Machines
// of pools make keys of their own.
func (p *Plan) HasWireGuardKey(m *Machine) bool { return p.Encrypted() && m.Joins() && !m.Pool }

// KernelModules returns the kernel modules that the machine needs, then the user's. overlay is for
// the file systems of containers. A machine with pods also needs br_netfilter, so that Services
// reach pods on the same bridge, and nf_conntrack, because kube-proxy sets its limits
// (https://github.com/kubernetes/kops/issues/17915). wireguard encrypts packets of pods.
func (p *Plan) KernelModules(m *Machine) []string {
	modules := []string{"overlay"}
	if m.Joins() {
		modules = []string{"br_netfilter", "nf_conntrack", "overlay"}
		if p.Encrypted() {
			modules = append(modules, "wireguard")
		}
	}
	return slices.Concat(modules, m.Settings.KernelModules)
}

// PodWay returns how the packets of pods leave the machine with cni routed, and why.
func (p *Plan) PodWay(m *Machine) (way, why string) {
	switch {
	case p.Encrypted():
		return WayWireGuard, "network.encryption is wireguard"
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

// PodWayFields returns the fields that PodWay follows from.
func (p *Plan) PodWayFields() []string {
	if p.Encrypted() {
		return []string{"network.encryption"}
	}
	return []string{"network.vxlan"}
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
