package config_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/config"
)

// foreignRow is a key of another program, what kiln says of it, and the paths of the fields that
// the message names, separated by spaces.
type foreignRow struct{ key, hint, fields string }

// foreignRenamed holds the keys that have another name in the same map, and that name, by the type
// of the map.
var foreignRenamed = map[string][][2]string{
	"Spec": {
		{"controlPlaneEndpoint", "endpoint"},
		{"extraManifests", "addons"},
		{"hosts", "nodes"},
		{"imageRegistry", "imageRepository"},
		{"inlineManifests", "addons"},
		{"machine", "machines"},
		{"networking", "network"},
		{"nodePools", "pools"},
		{"privateRegistry", "imageRepository"},
		{"version", "kubernetesVersion"},
	},
	"Network": {
		{"clusterCIDR", "podSubnets"},
		{"clusterDomain", "dnsDomain"},
		{"kubeProxy", "proxy"},
		{"plugin", "cni"},
		{"podCIDR", "podSubnets"},
		{"podCIDRs", "podSubnets"},
		{"proxyMode", "proxy"},
		{"serviceCIDR", "serviceSubnets"},
		{"serviceCIDRs", "serviceSubnets"},
	},
	"Node": {
		{"fqdn", "name"},
		{"host", "name"},
		{"hostname", "name"},
		{"internalAddress", "addresses"},
		{"ip", "addresses"},
		{"ipAddress", "addresses"},
		{"ips", "addresses"},
		{"macAddress", "mac"},
		{"type", "role"},
	},
	"Arg": {
		{"arg", "name"},
		{"flag", "name"},
		{"key", "name"},
	},
	"Machine": {
		{"architecture", "arch"},
		{"provider", "platform"},
		{"runcmd", "preBoot or postBoot"},
		{"sshKeys", "sshAuthorizedKeys"},
		{"ssh_authorized_keys", "sshAuthorizedKeys"},
		{"write_files", "files"},
	},
}

// foreignMisplaced holds the other keys by the type of their map.
var foreignMisplaced = map[string][]foreignRow{
	"Spec": {
		{
			"admissionControl", "write the flag enable-admission-plugins in " +
				"controlPlane.apiServer.extraArgs",
			"controlPlane.apiServer.extraArgs",
		},
		{
			"apiServerCertSANs", "write controlPlane.apiServer.certSANs",
			"controlPlane.apiServer.certSANs",
		},
		{
			"apiServerCertSans", "write controlPlane.apiServer.certSANs",
			"controlPlane.apiServer.certSANs",
		},
		{
			"apiServerExtraArgs", "write controlPlane.apiServer.extraArgs",
			"controlPlane.apiServer.extraArgs",
		},
		{"auditPolicy", "write a patch of kind Policy, name kube-apiserver", ""},
		{"certificatesDir", "remove it; the certificates are in /etc/kubernetes/pki", ""},
		{"clusterConfiguration", "write its fields here; docs/kubeadm.md compares them", ""},
		{"clusterDomain", "write network.dnsDomain", "network.dnsDomain"},
		{"clusterName", "write metadata.name", "metadata.name"},
		{"containerManager", "remove it; pods run in the containerd of the system", ""},
		{"containerRuntime", "remove it; pods run in the containerd of the system", ""},
		{"controlPlaneCount", "list each machine under nodes", "nodes"},
		{"criSocket", "remove it; pods run in the containerd of the system", ""},
		{
			"featureGates", "write machines.kubelet.featureGates, and the flag feature-gates in " +
				"controlPlane.apiServer.extraArgs and beside it",
			"machines.kubelet.featureGates controlPlane.apiServer.extraArgs",
		},
		{"initConfiguration", "write its fields here; docs/kubeadm.md compares them", ""},
		{
			"install", "write machines.platform; how systems get onto disks is not kiln's",
			"machines.platform",
		},
		{"kubeProxy", "write network.proxy", "network.proxy"},
		{"kubeletConfiguration", "write machines.kubelet", "machines.kubelet"},
		{
			"kubernetes", "write kubernetesVersion, network and endpoint",
			"kubernetesVersion network endpoint",
		},
		{"loadBalancer", "write endpoint, or controlPlane.vip", "endpoint controlPlane.vip"},
		{"masterCount", "list each machine under nodes", "nodes"},
		{"maxPods", "write machines.kubelet.maxPods", "machines.kubelet.maxPods"},
		{"nodeCIDRMaskSize", "write network.nodeMaskSizes", "network.nodeMaskSizes"},
		{"nodeCidrMaskSize", "write network.nodeMaskSizes", "network.nodeMaskSizes"},
		{
			"nodeRegistration", "write machines.taints, machines.labels and machines.kubelet",
			"machines.taints machines.labels machines.kubelet",
		},
		{"ntp", "write machines.ntpServers", "machines.ntpServers"},
		{"podCIDR", "write network.podSubnets", "network.podSubnets"},
		{"podSubnet", "write network.podSubnets", "network.podSubnets"},
		{
			"registry", "write imageRepository, or machines.registries for mirrors",
			"imageRepository machines.registries",
		},
		{"roleGroups", "write role in each of nodes", "nodes.role nodes"},
		{"serviceCIDR", "write network.serviceSubnets", "network.serviceSubnets"},
		{"serviceSubnet", "write network.serviceSubnets", "network.serviceSubnets"},
		{"sshKeys", "write machines.sshAuthorizedKeys", "machines.sshAuthorizedKeys"},
		{"ssh_authorized_keys", "write machines.sshAuthorizedKeys", "machines.sshAuthorizedKeys"},
		{
			"storage", "write machines.butane or machines.cloudConfig",
			"machines.butane machines.cloudConfig",
		},
		{"systemd", "write machines.units", "machines.units"},
		{"timezone", "write machines.timeZone", "machines.timeZone"},
		{
			"users", "write machines.butane or machines.cloudConfig",
			"machines.butane machines.cloudConfig",
		},
		{"vip", "write controlPlane.vip", "controlPlane.vip"},
	},
	"Network": {
		{"nodeCIDRMaskSize", "write nodeMaskSizes, a list", "nodeMaskSizes"},
		{"nodeCidrMaskSize", "write nodeMaskSizes, a list", "nodeMaskSizes"},
		{"ipvs", "remove it; proxy is nftables or iptables", "proxy"},
		{
			"mtu", "write flannel.mtu, the MTU of the network between the machines", "flannel.mtu",
		},
		{
			"vxlan", "write flannel.backend, and flannel.directRouting for vxlan: auto",
			"flannel.backend flannel.directRouting",
		},
	},
	"Node": {
		{"podCIDRs", "remove it; the controller-manager gives each Node its part of " +
			"network.podSubnets", "network.podSubnets"},
	},
	"Pool": {
		{"podCIDRs", "remove it; the controller-manager gives each Node its part of " +
			"network.podSubnets", "network.podSubnets"},
	},
	"ControlPlane": {
		{"certSANs", "write apiServer.certSANs", "apiServer.certSANs"},
		{"endpoint", "write endpoint beside controlPlane", "endpoint controlPlane"},
		{
			"extraArgs", "write apiServer.extraArgs, or that of another program",
			"apiServer.extraArgs",
		},
		{
			"featureGates", "write the flag feature-gates in apiServer.extraArgs and beside it",
			"apiServer.extraArgs",
		},
		{"replicas", "list each machine under nodes", "nodes"},
	},
	"APIServer": foreignOfPrograms,
	"Component": foreignOfPrograms,
	"Etcd":      foreignOfPrograms,
	"Workers": {
		{"replicas", "list each machine under nodes, or write a pool", "nodes"},
	},
	"Limits": {
		{"core", "write a drop-in of containerd with machines.units", "machines.units"},
		{"nproc", "write machines.kubelet.podPidsLimit", "machines.kubelet.podPidsLimit"},
	},
}

// foreignOfPrograms holds the misplaced keys of each program of the control plane.
var foreignOfPrograms = []foreignRow{
	{"extraEnvs", "write a patch of the static pod", ""},
	{"extraVolumes", "write a patch of the static pod", ""},
	{"featureGates", "write the flag feature-gates in extraArgs", "extraArgs"},
	{"image", "write images beside controlPlane", "images controlPlane"},
	{"resources", "write a patch of the static pod", ""},
	{"timeoutForControlPlane", "write boot.stepTimeout", "boot.stepTimeout"},
}

// foreignPlaces holds a place of each type: its path, the text before and after the entries of the
// map there, and the entries that are required.
var foreignPlaces = map[string]struct {
	path, before, after string
	required            []string
}{
	"Spec":         {"", header + onOS + oneNode + "  ", "\n", nil},
	"Network":      {"network", header + onOS + oneNode + "  network: {", "}\n", nil},
	"Machine":      {"machines", header + oneNode + "  machines: {os: flatcar, ", "}\n", nil},
	"ControlPlane": {"controlPlane", header + onOS + oneNode + "  controlPlane: {", "}\n", nil},
	"APIServer": {
		"controlPlane.apiServer", header + onOS + oneNode + "  controlPlane: {apiServer: {",
		"}}\n", nil,
	},
	"Component": {
		"controlPlane.scheduler", header + onOS + oneNode + "  controlPlane: {scheduler: {",
		"}}\n", nil,
	},
	"Etcd": {
		"controlPlane.etcd", header + onOS + oneNode + "  controlPlane: {etcd: {", "}}\n", nil,
	},
	"Limits": {
		"machines.limits", header + oneNode + "  machines: {os: flatcar, limits: {", "}}\n", nil,
	},
	"Workers": {"workers", header + onOS + oneNode + "  workers: {", "}\n", nil},
	"Arg": {
		"machines.kubeletExtraArgs[0]", header + oneNode + "  machines: {os: flatcar, " +
			"kubeletExtraArgs: [{", "}]}\n",
		[]string{"name: v", `value: "2"`},
	},
	"Pool": {"pools[0]", header + onOS + oneNode + "  pools: [{", "}]\n", []string{"name: blue"}},
	"Node": {
		"nodes[0]", header + onOS + "  nodes: [{", "}]\n",
		[]string{"name: cp-1", "role: control-plane", "addresses: [10.0.0.11]"},
	},
}

// TestForeignKeys: each key of another program has a message that names the right field, and no
// other message follows. The fields exist.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	var tested []string
	for name, keys := range foreignRenamed {
		for _, row := range keys {
			tested = append(tested, name+" "+row[0])
			fields := strings.ReplaceAll(row[1], " or ", " ")
			requireForeign(t, name, foreignRow{row[0], "it is called " + row[1] + " here", fields})
		}
	}
	for name, rows := range foreignMisplaced {
		for _, row := range rows {
			tested = append(tested, name+" "+row.key)
			requireForeign(t, name, row)
			field, only := strings.CutPrefix(row.hint, "write ")
			_, here := config.Field(strings.TrimPrefix(foreignPlaces[name].path+"."+field, "."))
			require.False(t, only && here && !strings.Contains(field, "."),
				"%s %s: the field is in the same map, so the key is a renamed one", name, row.key)
		}
	}
	slices.Sort(tested)
	require.Equal(t, config.ForeignKeys(), tested, "each key has one row")
}

// dotted matches the paths of fields in a message, and file names.
var dotted = regexp.MustCompile(`[\w/]+(\.\w+)+`)

// requireForeign requires that a key in a map of that type has exactly the message of its row, and
// that each field in the message exists: in the same map, or below spec.
func requireForeign(t *testing.T, name string, row foreignRow) {
	t.Helper()
	at := foreignPlaces[name]
	entries := []string{row.key + ": x"}
	for _, entry := range at.required {
		field, _, _ := strings.Cut(entry, ":")
		if field != row.fields { // the key is there in its place
			entries = append(entries, entry)
		}
	}
	said := problemsOf(t, at.before+strings.Join(entries, ", ")+at.after, nil)
	path := strings.TrimPrefix(at.path+"."+row.key, ".")
	require.Regexp(t, `^cluster\.yaml:\d+:\d+: `+
		regexp.QuoteMeta(path+": unknown field; "+row.hint)+`$`, said)

	fields := strings.Fields(row.fields)
	for _, word := range dotted.FindAllString(row.hint, -1) {
		if word != "docs/kubeadm.md" {
			require.Contains(t, fields, word, "%s %s", name, row.key)
		}
	}
	for _, field := range fields {
		_, here := config.Field(strings.TrimPrefix(at.path+"."+field, "."))
		_, below := config.Field(field)
		_, kubelet := strings.CutPrefix(field, "machines.kubelet.") // the fields of the kubelet
		require.True(t, here || below || kubelet, "%s %s: no field %s", name, row.key, field)
	}
}
