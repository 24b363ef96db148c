package config

import (
	"path"
	"regexp"
)

// podInterfaces lists the interfaces of pods on a machine, as globs, by network.cni; with none,
// those that the usual CNIs make (Calico's documentation, "Configure NetworkManager"; for Canal and
// Flannel rancher/rke2#786).
var podInterfaces = map[string][]string{
	"flannel": {"cni0", "flannel*", "veth*"},
	"none": {
		"cali*", "cilium*", "cni*", "flannel*", "lxc*", "tunl*", "veth*", "vxlan*.calico",
		"wg-v6.cali", "wireguard.cali",
	},
}

// PodInterfaces returns the names of pods' interfaces on the machines, as globs.
func (c *Cluster) PodInterfaces() []string { return podInterfaces[c.Spec.Network.CNI] }

// podInterface returns the glob of pods' interfaces that a name matches, "" if it matches none.
func (c *Cluster) podInterface(name string) (glob string) {
	for _, glob := range c.PodInterfaces() {
		if ok, _ := path.Match(glob, name); ok {
			return glob
		}
	}
	return ""
}

// interfaceName matches the names that people give to network interfaces. The kernel takes at most
// 15 characters.
var interfaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,14}$`)
