package config

import (
	"slices"
	"strings"
)

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

// netplanSystems are the systems where cloud-init hands its network configuration to netplan as it is. On others it translates it itself,
// and all its versions up to 22.4 drop metrics and take ::/0 for ::/64 (cloudinit/net/network_state.py).
var netplanSystems = []string{"debian", "ubuntu"}

// Netplan says that an operating system's cloud-init hands its network configuration to netplan.
func Netplan(os string) bool { return slices.Contains(netplanSystems, os) }

// Called is the interface's name: its own, or the one that systemd makes of its MAC address (systemd.net-naming-scheme(7)).
func (i *Interface) Called() string {
	if i.Name == "" {
		return "enx" + strings.ReplaceAll(PlainMAC(i.MAC), ":", "")
	}
	return i.Name
}
