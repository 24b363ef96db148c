package config

import (
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// wireGuard is the value of network.encryption with which packets of pods are encrypted, and the
// backend of Flannel that does so.
const wireGuard = "wireguard"

// flannel checks the settings of Flannel.
func (v *checker) flannel() {
	net, at := &v.c.Spec.Network, v.spec.Key("network").Key("flannel")
	f := &net.Flannel
	if net.CNI != "flannel" { // any other word is reported, and may become flannel
		if net.CNI == "none" && v.has(at) {
			v.report(at, "has no effect with cni none; remove it, or write cni: flannel")
		}
		if net.CNI == "none" && net.Encryption == wireGuard {
			v.report(v.spec.Key("network").Key("encryption"), "wireguard is for cni flannel, and "+
				"cni none is another network; remove it, and let that encrypt")
		}
		return
	}
	if net.Encryption == wireGuard && f.Backend != wireGuard {
		v.report(at.Key("backend"), "%s sends packets in clear, and network.encryption is "+
			"wireguard; remove one of them", f.Backend)
	}
	v.flannelPort(at.Key("port"))
	v.flannelMTU(at.Key("mtu"))
	switch {
	case f.Backend == "host-gw":
		joining := v.unrouted(at.Key("backend"), "host-gw", "Write vxlan")
		v.segment(joining, true)
		v.segment(joining, false)
	case f.DirectRouting && f.Backend != "vxlan":
		v.report(at.Key("directRouting"), "has no effect with backend %s; remove it", f.Backend)
	case f.DirectRouting:
		v.unrouted(at.Key("directRouting"), "directRouting", "Remove it")
	}
}

func (v *checker) flannelPort(at *yamltext.Location) {
	const highest = 65535
	f := &v.c.Spec.Network.Flannel
	last := f.Port // the second of two ports follows the first
	if f.Backend == wireGuard && len(v.c.Spec.Network.PodSubnets) > 1 {
		last++
	}
	switch {
	case f.Backend == "host-gw" && v.has(at):
		v.report(at, "has no effect with backend host-gw, which needs no port; remove it")
	case f.Port <= target.LastNodePort && last >= target.FirstNodePort:
		v.report(at, "%d is one of the ports of Services (%d-%d); write another", f.Port,
			target.FirstNodePort, target.LastNodePort)
	case f.Port < 0 || last > highest:
		v.report(at, "%d is out of range; write a UDP port from 1 to %d", f.Port,
			highest-(last-f.Port))
	}
}

// flannelMTU checks the MTU between the machines. Interfaces of pods have one that is less by what
// Flannel subtracts, and IPv6 needs at least 1280 bytes there, too.
func (v *checker) flannelMTU(at *yamltext.Location) {
	f := &v.c.Spec.Network.Flannel
	lowest := lowestMTU
	if strings.Contains(families(v.pods), family(false)) {
		lowest += map[string]int{"vxlan": 70, wireGuard: 80}[f.Backend]
	}
	switch {
	case f.MTU == 0:
	case f.Backend == "host-gw":
		v.report(at, "has no effect with backend host-gw, where packets are as large as the "+
			"interfaces of the machines allow; remove it")
	case f.MTU < lowest || f.MTU > highestMTU:
		v.report(at, "%d is out of range; write %d to %d, or 0 for the MTU of each machine's "+
			"interface", f.MTU, lowest, highestMTU)
	}
}

// flannelFolders checks that the nodes and pools have one folder of CNI plugins, since one
// DaemonSet puts Flannel's plugin there on all of them.
func (v *checker) flannelFolders(m settings) {
	if v.c.Spec.Network.CNI != "flannel" {
		return
	}
	if v.cniFolder.name == "" {
		v.cniFolder = namedFolder{m.name, m.CNIBinDir()}
	}
	system, _ := target.SystemNamed(m.OS)
	if folder := m.CNIBinDir(); !system.CanWrite(folder + "/flannel") {
		v.reportLayer(m, narrower(m, "profile", "os"), "%s has its CNI plugins in %s, which "+
			"its system cannot write, and Flannel puts its own there; write /opt/cni/bin, and "+
			"have all plugins there", m.name, folder)
	}
	if first := v.cniFolder; m.CNIBinDir() != first.folder {
		v.reportLayer(m, narrower(m, "profile", "os"), "%s has its CNI plugins in %s, and %s has "+
			"them in %s: Flannel puts its plugin into one folder on all machines; use images with "+
			"the same one, or write network.cni: none and bring a network with addons",
			m.name, m.CNIBinDir(), first.name, first.folder)
	}
}

// namedFolder is a folder, and the first machine that has it.
type namedFolder struct{ name, folder string }
