package plan

import (
	"slices"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// Backends of Flannel.
const (
	FlannelVXLAN     = "vxlan"     // inside UDP packets
	FlannelHostGW    = "host-gw"   // as they are
	FlannelWireGuard = "wireguard" // encrypted, inside UDP packets
)

// PodPorts returns the UDP ports on which machines take packets of pods from each other.
func (p *Plan) PodPorts() (ports []int) {
	flannel := &p.Config.Spec.Network.Flannel
	switch {
	case !p.Flannel() || flannel.Backend == FlannelHostGW:
		return nil
	case flannel.Backend == FlannelWireGuard && p.DualStack():
		return []int{flannel.Port, flannel.Port + 1}
	}
	return []int{flannel.Port}
}

// CNIFolder returns the folder of CNI plugins on the machines with pods, which is one with cni
// flannel.
func (p *Plan) CNIFolder() string {
	for i := range p.Machines {
		if m := &p.Machines[i]; m.Joins() {
			return m.Settings.CNIBinDir()
		}
	}
	return target.CNIBinDir
}

// KernelModules returns the kernel modules that the machine needs, then the user's. overlay is for
// the file systems of containers. A machine with pods also needs br_netfilter, so that Services
// reach pods on the same bridge, and nf_conntrack, because kube-proxy sets its limits
// (https://github.com/kubernetes/kops/issues/17915). wireguard encrypts packets of pods.
func (p *Plan) KernelModules(m *Machine) []string {
	modules := []string{"overlay"}
	if m.Joins() {
		modules = []string{"br_netfilter", "nf_conntrack", "overlay"}
		if p.Config.Spec.Network.Flannel.Backend == FlannelWireGuard {
			modules = append(modules, "wireguard")
		}
	}
	return slices.Concat(modules, m.Settings.KernelModules)
}

// NetworkWarnings returns a warning for each reason why pods of two machines may not reach each
// other, or a machine a mirror, although the configuration is valid.
func (p *Plan) NetworkWarnings() config.Problems {
	return append(p.podWarnings(), p.mirrorWarnings()...)
}

func (p *Plan) podWarnings() (out config.Problems) {
	if f := &p.Config.Spec.Network.Flannel; f.Backend != FlannelHostGW && !f.DirectRouting {
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
		if r := m.Platform.PodRoutes; r != nil && !slices.Contains(platforms, m.Platform.Name) {
			platforms = append(platforms, m.Platform.Name)
			out = append(out, config.Warning(config.WarnPodRoutes, "%s: pods of two machines "+
				"reach each other only with %s", m.Platform.Name, r.Text))
		}
	}
	if joining < 2 {
		return nil
	}
	return out
}
