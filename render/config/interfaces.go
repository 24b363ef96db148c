package config

// podInterfaces lists the interfaces of pods on a machine, as globs, by network.cni: those of cni
// routed, and those that the usual CNIs make (Calico's documentation, "Configure NetworkManager";
// for Canal and Flannel rancher/rke2#786).
var podInterfaces = map[string][]string{
	"routed": {"cni0", "veth*"},
	"none": {
		"cali*", "cilium*", "cni*", "flannel*", "lxc*", "tunl*", "veth*", "vxlan*.calico", "wg-v6.cali", "wireguard.cali",
	},
}

// PodInterfaces returns the names of pods' interfaces on the machines, as globs.
func (c *Cluster) PodInterfaces() []string { return podInterfaces[c.Spec.Network.CNI] }
