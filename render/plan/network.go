package plan

import (
	"regexp"
	"slices"
	"strings"

	"kiln/render/config"
	"kiln/render/target"
)

// Ways in which the packets of pods travel to another machine.
const (
	WayDirect = "direct" // as they are
	WayVXLAN  = "vxlan"  // inside UDP packets
	WayAuto   = "auto"   // directly to machines on the same network segment, with VXLAN to others

	WayWireGuard = "wireguard" // encrypted, inside UDP packets
)

// Encrypted reports whether kiln's own network encrypts the packets of pods.
func (p *Plan) Encrypted() bool {
	return p.Routed() && p.Config.Spec.Network.Encryption == WayWireGuard
}

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
	case p.Encrypted():
		return []int{target.WireGuardPort}
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
		flannel := p.Config.Spec.Network.Flannel.Backend // empty with another network
		if p.Encrypted() || flannel == FlannelWireGuard {
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
// other with cni routed, a machine a mirror, or why machines may stop at the first boot for want of
// the program wg, although the configuration is valid.
func (p *Plan) NetworkWarnings() []string {
	return slices.Concat(p.podWarnings(), p.encryptionWarnings(), p.mirrorWarnings())
}

// encryptionWarnings returns a sentence about the machines that encrypt packets of pods and seem to
// have no program wg: their system's image lacks it, and no script before the boot names it.
func (p *Plan) encryptionWarnings() []string {
	if !p.Encrypted() {
		return nil
	}
	var systems []string
	for i := range p.Machines {
		m := &p.Machines[i]
		if m.Joins() && !m.System.WireGuard && !slices.Contains(systems, m.System.Name) &&
			!slices.ContainsFunc(m.Settings.PreBoot, p.installsWireGuard) {
			systems = append(systems, m.System.Name)
		}
	}
	if len(systems) == 0 {
		return nil
	}
	slices.Sort(systems)
	return []string{"network.encryption is wireguard, and machines with " +
		strings.Join(systems, ", ") + " need the program wg, which is not in the system's own " +
		"image: without it the first boot stops (tool-wg); install the package wireguard-tools " +
		"with a preBoot script, or use an image that has it (docs/pod-networks.md)"}
}

var wireGuard = regexp.MustCompile(`\b(wg|wireguard)\b`)

// installsWireGuard reports whether a script names WireGuard, or cannot be read here.
func (p *Plan) installsWireGuard(s config.Script) bool {
	text := []byte(s.Content)
	if s.ContentFrom != "" {
		text = p.Config.Text(s.ContentFrom)
	}
	return text == nil || wireGuard.Match(text)
}

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
