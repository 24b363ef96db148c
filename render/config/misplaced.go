package config

import "reflect"

// misplaced holds the keys that people know from the configurations of other programs and expect in
// a place where kiln has none: kubeadm (ClusterConfiguration, InitConfiguration), Talos
// (MachineConfig) and KubeKey (Cluster). The value says what to do instead.
var misplaced = map[reflect.Type]map[string]string{
	reflect.TypeFor[Spec](): {
		"admissionControl":     "write the flag enable-admission-plugins in apiServer.extraArgs",
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
		"extraManifests":       "write addons",
		"featureGates": "write machines.kubelet.featureGates, and the flag feature-gates in " +
			"controlPlane.apiServer.extraArgs and beside it",
		"imageRegistry":        "write imageRepository",
		"initConfiguration":    "write its fields here; docs/kubeadm.md compares them",
		"inlineManifests":      "write addons",
		"install":              "write machines.platform; how systems get onto disks is not kiln's",
		"kubeProxy":            "write network.proxy",
		"kubeletConfiguration": "write machines.kubelet",
		"kubernetes":           "write kubernetesVersion, network and endpoint",
		"loadBalancer":         "write endpoint, or controlPlane.vip",
		"machine":              "write machines",
		"masterCount":          "list each machine under nodes",
		"maxPods":              "write machines.kubelet.maxPods",
		"networking":           "write network",
		"nodeCIDRMaskSize":     "write network.nodeMaskSizes",
		"nodeCidrMaskSize":     "write network.nodeMaskSizes",
		"nodePools":            "write pools",
		"nodeRegistration":     "write machines.taints, machines.labels and machines.kubelet",
		"ntp":                  "write the configuration of the time service with machines.files",
		"podCIDR":              "write network.podSubnets",
		"podSubnet":            "write network.podSubnets",
		"privateRegistry":      "write imageRepository",
		"registry":             "write imageRepository, or machines.registries for mirrors",
		"roleGroups":           "write role in each of nodes",
		"serviceCIDR":          "write network.serviceSubnets",
		"serviceSubnet":        "write network.serviceSubnets",
		"sshKeys":              "write machines.sshAuthorizedKeys",
		"ssh_authorized_keys":  "write machines.sshAuthorizedKeys",
		"storage":              "write machines.butane or machines.cloudConfig",
		"systemd":              "write machines.units",
		"timezone":             "set it with a script in machines.preBoot",
		"users":                "write machines.butane or machines.cloudConfig",
		"vip":                  "write controlPlane.vip",
	},
	reflect.TypeFor[Network](): {
		"nodeCIDRMaskSize": "write nodeMaskSizes, a list",
		"nodeCidrMaskSize": "write nodeMaskSizes, a list",
		"ipvs":             "remove it; proxy is nftables or iptables",
	},
	reflect.TypeFor[ControlPlane](): {
		"certSANs":     "write apiServer.certSANs",
		"endpoint":     "write endpoint beside controlPlane",
		"extraArgs":    "write apiServer.extraArgs, or that of another program",
		"featureGates": "write the flag feature-gates in apiServer.extraArgs and beside it",
		"replicas":     "list each machine under nodes",
	},
	reflect.TypeFor[APIServer](): componentKeys,
	reflect.TypeFor[Component](): componentKeys,
	reflect.TypeFor[Etcd]():      componentKeys,
	reflect.TypeFor[Workers](): {
		"replicas": "list each machine under nodes, or write a pool",
	},
}

// componentKeys are misplaced keys of every program of the control plane.
var componentKeys = map[string]string{
	"extraEnvs":              "write a patch of the static pod",
	"extraVolumes":           "write a patch of the static pod",
	"featureGates":           "write the flag feature-gates in extraArgs",
	"image":                  "write images",
	"resources":              "write a patch of the static pod",
	"timeoutForControlPlane": "write boot.stepTimeout",
}
