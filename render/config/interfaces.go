package config

import "strings"

// podInterfaces are the interfaces of pods on a machine, as globs, by network.cni: those of cni routed, and those that the usual CNIs make
// (rancher/rke2#786, kubekey.md §3.2).
var podInterfaces = map[string][]string{
	"routed": {"cni0", "veth*"},
	"none": {
		"cali*", "cilium*", "cni*", "flannel*", "lxc*", "tunl*", "veth*", "vxlan*.calico", "wg-v6.cali", "wireguard.cali",
	},
}

// PodInterfaces are globs of the names that pods' interfaces have on the machines.
func (c *Cluster) PodInterfaces() []string { return podInterfaces[c.Spec.Network.CNI] }

// Called is the interface's name: its own, or the one that systemd makes of its MAC address (systemd.net-naming-scheme(7)).
func (i *Interface) Called() string {
	if i.Name == "" {
		return "enx" + strings.ReplaceAll(PlainMAC(i.MAC), ":", "")
	}
	return i.Name
}
