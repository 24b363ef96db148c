package config

import "reflect"

// The tables of this file hold keys that people know from the configurations of other programs:
// kubeadm (ClusterConfiguration, InitConfiguration), Talos (MachineConfig) and KubeKey (Cluster).
// A key whose field is in the same map is in renamed, any other in misplaced.

// renamed holds the keys that have another name in the same map, and that name. The message about
// a renamed key replaces the message that the field is missing.
var renamed = map[reflect.Type]map[string]string{
	reflect.TypeFor[Spec](): {
		"controlPlaneEndpoint": "endpoint",
		"extraManifests":       "addons",
		"hosts":                "nodes",
		"imageRegistry":        "imageRepository",
		"inlineManifests":      "addons",
		"machine":              "machines",
		"networking":           "network",
		"nodePools":            "pools",
		"privateRegistry":      "imageRepository",
		"version":              "kubernetesVersion",
	},
	reflect.TypeFor[Network](): {
		"clusterCIDR":   "podSubnets",
		"clusterDomain": "dnsDomain",
		"kubeProxy":     "proxy",
		"plugin":        "cni",
		"podCIDR":       "podSubnets",
		"podCIDRs":      "podSubnets",
		"proxyMode":     "proxy",
		"serviceCIDR":   "serviceSubnets",
		"serviceCIDRs":  "serviceSubnets",
	},
	reflect.TypeFor[Node](): {
		"fqdn":            "name",
		"host":            "name",
		"hostname":        "name",
		"internalAddress": "addresses",
		"ip":              "addresses",
		"ipAddress":       "addresses",
		"ips":             "addresses",
		"macAddress":      "mac",
		"type":            "role",
	},
	reflect.TypeFor[Arg](): {"arg": "name", "flag": "name", "key": "name"},
}

// renamedInMachines holds renamed keys of every map with the settings of machines.
var renamedInMachines = map[string]string{
	"architecture":        "arch",
	"provider":            "platform",
	"runcmd":              "preBoot or postBoot",
	"sshKeys":             "sshAuthorizedKeys",
	"ssh_authorized_keys": "sshAuthorizedKeys",
	"write_files":         "files",
}

// misplaced holds the keys that kiln has in another place, in another form or not at all, and what
// to do instead. A path in it begins in the same map or in spec.
var misplaced = map[reflect.Type]map[string]string{
	reflect.TypeFor[Spec](): {
		"admissionControl": "write the flag enable-admission-plugins in " +
			"controlPlane.apiServer.extraArgs",
		"apiServerCertSANs":    "write controlPlane.apiServer.certSANs",
		"apiServerCertSans":    "write controlPlane.apiServer.certSANs",
		"apiServerExtraArgs":   "write controlPlane.apiServer.extraArgs",
		"auditPolicy":          "write a patch of kind Policy, name kube-apiserver",
		"certificatesDir":      "remove it; the certificates are in /etc/kubernetes/pki",
		"clusterConfiguration": "write its fields here; docs/kubeadm.md compares them",
		"clusterDomain":        "write network.dnsDomain",
		"clusterName":          "write metadata.name",
		"containerManager":     "remove it; pods run in the containerd of the system",
		"containerRuntime":     "remove it; pods run in the containerd of the system",
		"controlPlaneCount":    "list each machine under nodes",
		"criSocket":            "remove it; pods run in the containerd of the system",
		"featureGates": "write machines.kubelet.featureGates, and the flag feature-gates in " +
			"controlPlane.apiServer.extraArgs and beside it",
		"initConfiguration":    "write its fields here; docs/kubeadm.md compares them",
		"install":              "write machines.platform; how systems get onto disks is not kiln's",
		"kubeProxy":            "write network.proxy",
		"kubeletConfiguration": "write machines.kubelet",
		"kubernetes":           "write kubernetesVersion, network and endpoint",
		"loadBalancer":         "write endpoint, or controlPlane.vip",
		"masterCount":          "list each machine under nodes",
		"maxPods":              "write machines.kubelet.maxPods",
		"nodeCIDRMaskSize":     "write network.nodeMaskSizes",
		"nodeCidrMaskSize":     "write network.nodeMaskSizes",
		"nodeRegistration":     "write machines.taints, machines.labels and machines.kubelet",
		"ntp":                  "write machines.ntpServers",
		"podCIDR":              "write network.podSubnets",
		"podSubnet":            "write network.podSubnets",
		"registry":             "write imageRepository, or machines.registries for mirrors",
		"roleGroups":           "write role in each of nodes",
		"serviceCIDR":          "write network.serviceSubnets",
		"serviceSubnet":        "write network.serviceSubnets",
		"sshKeys":              "write machines.sshAuthorizedKeys",
		"ssh_authorized_keys":  "write machines.sshAuthorizedKeys",
		"storage":              "write machines.butane or machines.cloudConfig",
		"systemd":              "write machines.units",
		"timezone":             "write machines.timeZone",
		"users":                "write machines.butane or machines.cloudConfig",
		"vip":                  "write controlPlane.vip",
	},
	reflect.TypeFor[Network](): {
		"mtu":              "write flannel.mtu, the MTU of the network between the machines",
		"nodeCIDRMaskSize": "write nodeMaskSizes, a list",
		"nodeCidrMaskSize": "write nodeMaskSizes, a list",
		"ipvs":             "remove it; proxy is nftables or iptables",
		"vxlan":            "write flannel.backend, and flannel.directRouting for vxlan: auto",
	},
	reflect.TypeFor[Updates](): {"start": noWindow, "length": noWindow},
	reflect.TypeFor[Node]():    {"podCIDRs": noPodCIDRs},
	reflect.TypeFor[Pool]():    {"podCIDRs": noPodCIDRs},
	reflect.TypeFor[ControlPlane](): {
		"certSANs":     "write apiServer.certSANs",
		"endpoint":     "write endpoint beside controlPlane",
		"extraArgs":    "write apiServer.extraArgs, or that of another program",
		"featureGates": "write the flag feature-gates in apiServer.extraArgs and beside it",
		"replicas":     "list each machine under nodes",
	},
	reflect.TypeFor[Limits](): {
		"core":  "write a drop-in of containerd with machines.units",
		"nproc": "write machines.kubelet.podPidsLimit",
	},
	reflect.TypeFor[APIServer](): componentKeys,
	reflect.TypeFor[Component](): componentKeys,
	reflect.TypeFor[Etcd]():      componentKeys,
	reflect.TypeFor[Workers](): {
		"replicas": "list each machine under nodes, or write a pool",
	},
}

const noWindow = "remove it; write policy: none, and replace machines by newer images, or set the " +
	"window of the system's own updater with files"

const noPodCIDRs = "remove it; the controller-manager gives each Node its part of " +
	"network.podSubnets"

// componentKeys are misplaced keys of every program of the control plane.
var componentKeys = map[string]string{
	"extraEnvs":              "write a patch of the static pod",
	"extraVolumes":           "write a patch of the static pod",
	"featureGates":           "write the flag feature-gates in extraArgs",
	"image":                  "write images beside controlPlane",
	"resources":              "write a patch of the static pod",
	"timeoutForControlPlane": "write boot.stepTimeout",
}
