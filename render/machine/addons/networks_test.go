package addons_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/addons"
	"kiln.dev/kiln/render/plan"
)

const cluster = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.example.com
  machines: {os: debian}
  network: {NETWORK}
  addons: [{path: addon.yaml}]
  nodes:
  - {name: cp-1, role: control-plane, addresses: ADDRESSES}
`

// prepared returns the plan of a cluster and the objects of its add-on. network is spec.network; at
// its end, "on 1450" gives the machine an interface of that MTU.
func prepared(t *testing.T, network, addon string) (*plan.Plan, []manifests.Object) {
	t.Helper()
	node := "[10.0.0.11]"
	if strings.Contains(network, "::") {
		node = `[10.0.0.11, "2001:db8::11"]`
	}
	network, small := strings.CutSuffix(network, " on 1450")
	if small {
		node += ", interfaces: [{name: eth0, addresses: [10.0.0.11/24], mtu: 1450}]"
	}
	text := strings.NewReplacer("NETWORK", network, "ADDRESSES", node).Replace(cluster)
	files := fstest.MapFS{"addon.yaml": &fstest.MapFile{Data: []byte(addon)}}
	c, err := config.Parse("cluster.yaml", []byte(text), files)
	require.NoError(t, err)
	objects, err := manifests.Read([]byte(addon))
	require.NoError(t, err)
	return plan.New(c), objects
}

// daemonSet returns a DaemonSet of one container, which mounts the folder of CNI plugins'
// configurations. Each variable is name=value.
func daemonSet(container string, variables ...string) string {
	var env strings.Builder
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		env.WriteString("\n        - {name: " + name + ", value: \"" + value + "\"}")
	}
	return `
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ` + container + `, namespace: kube-system}
spec:
  selector: {matchLabels: {app: network}}
  template:
    metadata: {labels: {app: network}}
    spec:
      containers:
      - name: ` + container + `
        image: registry.example.com/network
        env:
        - {name: A, value: a}` + env.String() + `
      volumes:
      - {name: cni, hostPath: {path: /etc/cni/net.d}}
`
}

// configMap returns a ConfigMap; its data is a YAML map.
func configMap(name, data string) string {
	return "\n---\napiVersion: v1\nkind: ConfigMap\n" +
		"metadata: {name: " + name + ", namespace: kube-system}\ndata: " + data + "\n"
}

// flannel returns Flannel with its network configuration.
func flannel(netConf string) string {
	return configMap("kube-flannel-cfg", "{net-conf.json: '"+netConf+"'}") +
		daemonSet("kube-flannel")
}

// calico returns Calico as in its calico.yaml.
func calico(variables ...string) string {
	return configMap("calico-config", `{veth_mtu: "0"}`) + daemonSet("calico-node", variables...)
}

// cilium returns Cilium as its chart makes it. Where the API server is, the chart must be told.
func cilium(data string, variables ...string) string {
	return configMap("cilium-config", data) + daemonSet("cilium-agent", variables...)
}

// tigera returns an object of Calico's own kinds.
func tigera(group, kind, name, spec string) string {
	return "\n---\napiVersion: " + group + "\nkind: " + kind +
		"\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

const (
	subnet = "cni: none, podSubnets: [10.32.0.0/16]"
	own    = "cni: flannel, podSubnets: [10.32.0.0/16]"
	both   = `cni: none, podSubnets: [10.32.0.0/16, "fd00:32::/48"], ` +
		`serviceSubnets: [10.96.0.0/16, "fd00:96::/112"]`
	good = "CALICO_IPV4POOL_CIDR=10.32.0.0/17"
	nft  = "FELIX_NFTABLESMODE=Enabled"
	api  = "KUBERNETES_SERVICE_HOST=api.example.com"

	installation = "operator.tigera.io/v1"
	calicoAPI    = "crd.projectcalico.org/v1"
)

// disagreements are add-ons that contradict their clusters, by what they do wrong. Each want is
// what every finding says, in their order.
var disagreements = []struct {
	name, network, addon string
	want                 []string
}{
	{"flannel, other network", subnet, flannel(`{"Network": "10.244.0.0/16"}`), []string{
		`ConfigMap kube-system/kube-flannel-cfg: data["net-conf.json"].Network: 10.244.0.0/16 ` +
			`does not hold 10.32.0.0/16 of network.podSubnets, where the cluster expects its ` +
			`pods; write 10.32.0.0/16 here, or 10.244.0.0/16 there`}},
	{"flannel, a part of the network", subnet, flannel(`{"Network": "10.32.0.0/17"}`), []string{
		`10.32.0.0/17 does not hold 10.32.0.0/16`}},
	{"flannel, no network", subnet, flannel(`{"Network": "10.32.0.0"}`), []string{
		`"10.32.0.0" is not a network; write it like 10.32.0.0/16`}},
	{"flannel, other network of IPv6", both, flannel(`{"Network": "10.32.0.0/16", ` +
		`"EnableIPv6": true, "IPv6Network": "fd00:33::/48"}`), []string{
		`data["net-conf.json"].IPv6Network: fd00:33::/48 does not hold fd00:32::/48`}},
	{"flannel, IPv6 too much", subnet, flannel(`{"Network": "10.32.0.0/16", ` +
		`"EnableIPv6": true, "IPv6Network": "fd00:32::/48"}`), []string{
		`fd00:32::/48 is of a family that network.podSubnets does not have`}},
	{"flannel, IPv4 alone", both, flannel(`{"Network": "10.32.0.0/16"}`), []string{
		`data["net-conf.json"]: pods get no address of IPv6, and network.podSubnets has ` +
			`fd00:32::/48; switch IPv6 on`}},
	{"flannel, broken", subnet, flannel(`{"Network": "10.32.0.0/16",}`), []string{
		`data["net-conf.json"]: is not a JSON object`}},
	{"flannel, packets too large", subnet + " on 1450", flannel(`{` +
		`"Network": "10.32.0.0/16", "Backend": {"Type": "vxlan", "MTU": 1500}}`), []string{
		`data["net-conf.json"].Backend.MTU: 1500 bytes are more than an interface of cp-1 ` +
			`carries, which is 1450`}},
	{"calico, its own network", subnet, calico(nft), []string{
		`DaemonSet kube-system/calico-node: env CALICO_IPV4POOL_CIDR: 192.168.0.0/16 is not in ` +
			`10.32.0.0/16 of network.podSubnets`}},
	{"calico, a larger network", subnet, calico(nft, "CALICO_IPV4POOL_CIDR=10.0.0.0/8"), []string{
		`10.0.0.0/8 is not in 10.32.0.0/16`}},
	{"calico, other network of IPv6", both, calico(nft, good, "FELIX_IPV6SUPPORT=true",
		"CALICO_IPV6POOL_CIDR=fd00:33::/64"), []string{
		`env CALICO_IPV6POOL_CIDR: fd00:33::/64 is not in fd00:32::/48`}},
	{"calico, IPv4 alone", both, calico(nft, good), []string{
		`env FELIX_IPV6SUPPORT: pods get no address of IPv6`}},
	{"calico, iptables", subnet, calico(good), []string{
		`env FELIX_NFTABLESMODE: Calico writes rules for iptables, and network.proxy is ` +
			`nftables; set it to Enabled, or write network.proxy: iptables`}},
	{"calico, nftables", "proxy: iptables, " + subnet, calico(good, nft), []string{
		`Calico writes rules for nftables, and network.proxy is iptables; ` +
			`write network.proxy: nftables`}},
	{"calico, nftables as an object", "proxy: iptables, " + subnet, calico(good) +
		tigera(calicoAPI, "FelixConfiguration", "default", "{nftablesMode: Enabled}"), []string{
		`Calico writes rules for nftables`}},
	{"calico, eBPF beside kube-proxy", subnet, calico(good, nft, "FELIX_BPFENABLED=true"),
		[]string{`env FELIX_BPFENABLED: it does the work of kube-proxy, and network.proxy is ` +
			`nftables; write network.proxy: none`}},
	{"calico, no way to the API server", "proxy: none, " + subnet,
		calico(good, "FELIX_BPFENABLED=true"), []string{`env KUBERNETES_SERVICE_HOST: not set`}},
	{"calico, packets too large", subnet + " on 1450", daemonSet("calico-node", good, nft) +
		configMap("calico-config", `{veth_mtu: "1480"}`), []string{
		`ConfigMap kube-system/calico-config: data.veth_mtu: 1480 bytes are more than`}},
	{"calico, other pool", subnet, calico(nft) +
		tigera(calicoAPI, "IPPool", "a", "{cidr: 10.33.0.0/16}"), []string{
		`IPPool a: spec.cidr: 10.33.0.0/16 is not in 10.32.0.0/16`}},
	{"operator, other pool", subnet, tigera(installation, "Installation", "default",
		"{calicoNetwork: {ipPools: [{cidr: 10.32.1.0/24}, {cidr: 192.168.0.0/16}]}}"), []string{
		`spec.calicoNetwork.ipPools: 192.168.0.0/16 is not in 10.32.0.0/16`}},
	{"operator, packets too large", subnet + " on 1450", tigera(installation, "Installation",
		"default", "{calicoNetwork: {mtu: 1460}}"), []string{
		`spec.calicoNetwork.mtu: 1460 bytes are more than`}},
	{"operator, eBPF beside kube-proxy", subnet, tigera(installation, "Installation", "default",
		"{calicoNetwork: {linuxDataplane: BPF}}"), []string{
		`spec.calicoNetwork.linuxDataplane: it does the work of kube-proxy`}},
	{"operator, iptables", subnet, tigera(installation, "Installation", "default",
		"{calicoNetwork: {linuxDataplane: Iptables}}"), []string{`write Nftables here`}},
	{"operator, nftables", "proxy: iptables, " + subnet, tigera(installation, "Installation",
		"default", "{calicoNetwork: {linuxDataplane: Nftables}}"), []string{
		`write network.proxy: nftables`}},

	{"cilium, its own network", subnet,
		cilium(`{ipam: cluster-pool, cluster-pool-ipv4-cidr: "10.0.0.0/8"}`), []string{
			`data.cluster-pool-ipv4-cidr: 10.0.0.0/8 is not in 10.32.0.0/16`}},
	{"cilium, other network of IPv6", both, cilium(`{ipam: cluster-pool, enable-ipv6: "true", ` +
		`cluster-pool-ipv4-cidr: 10.32.0.0/16, cluster-pool-ipv6-cidr: "fd00::/104"}`), []string{
		`data.cluster-pool-ipv6-cidr: fd00::/104 is not in fd00:32::/48`}},
	{"cilium, IPv4 alone", both, cilium(`{ipam: kubernetes, enable-ipv6: "false"}`), []string{
		`data.enable-ipv4, enable-ipv6: pods get no address of IPv6`}},
	{"cilium beside kube-proxy", subnet,
		cilium(`{ipam: kubernetes, kube-proxy-replacement: "true"}`), []string{
			`data.kube-proxy-replacement: it does the work of kube-proxy`}},
	{"cilium, no way to the API server", "proxy: none, " + subnet,
		cilium(`{ipam: kubernetes, kube-proxy-replacement: "true"}`), []string{
			`DaemonSet kube-system/cilium-agent: env KUBERNETES_SERVICE_HOST: not set`}},
	{"cilium, packets too large", subnet + " on 1450",
		cilium(`{ipam: kubernetes, mtu: "1500"}`), []string{`data.mtu: 1500 bytes are more than`}},
	{"cilium, packets of no size", subnet, cilium(`{ipam: kubernetes, mtu: large}`), []string{
		`data.mtu: "large" is not a number of bytes`}},

	{"two networks", subnet, flannel(`{"Network": "10.32.0.0/16"}`) + calico(good, nft), []string{
		`DaemonSet kube-system/calico-node: Calico is a network of pods, and Flannel is one, ` +
			`too; remove one`}},
	{"a network beside kiln's", own, flannel(`{"Network": "10.32.0.0/16"}`),
		[]string{`DaemonSet kube-system/kube-flannel: Flannel is a network of pods, and ` +
			`network.cni: flannel is one, too; write network.cni: none`}},
	{"another backend than the configuration's", own, configMap("kube-flannel-cfg",
		`{net-conf.json: '{"Network": "10.32.0.0/16", "Backend": {"Type": "udp"}}'}`), []string{
		`data["net-conf.json"].Backend.Type: "udp" is not network.flannel.backend, which is ` +
			`vxlan; write it there`}},
	{"an operator's network beside kiln's", own, tigera(installation,
		"Installation", "default", "{cni: {type: Calico}}"), []string{
		`Calico is a network of pods, and network.cni: flannel is one, too`}},
}

// TestDisagreements: each row is found, and nothing else. Each row of the table of settings has at
// least one of them.
func TestDisagreements(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, row := range disagreements {
		p, objects := prepared(t, row.network, row.addon)
		findings := addons.CheckNetworks(p, objects)
		require.Len(t, findings, len(row.want), "%s: %v", row.name, findings)
		for i, f := range findings {
			require.Contains(t, f.Message, row.want[i], row.name)
			all.WriteString(f.Message + "\n")
		}
	}
	rows := map[string]int{}
	for _, key := range addons.Keys() {
		rows[key]++
	}
	for key, count := range rows {
		require.GreaterOrEqual(t, strings.Count(all.String(), ": "+key+": "), count, key)
	}
}

// TestAgreements: add-ons that fit their clusters.
func TestAgreements(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, network, addon string }{
		{"flannel", subnet, flannel(`{"Network": "10.32.0.0/16"}`)},
		{"flannel, a larger network", subnet, flannel(`{"Network": "10.0.0.0/8"}`)},
		{"flannel, both families", both, flannel(`{"Network": "10.32.0.0/16", ` +
			`"EnableIPv6": true, "IPv6Network": "fd00:32::/48"}`)},
		{"flannel beside another proxy", "proxy: none, " + subnet,
			flannel(`{"Network": "10.32.0.0/16"}`) + daemonSet("kube-router")},
		{"flannel, packets that fit", subnet + " on 1450", flannel(
			`{"Network": "10.32.0.0/16", "Backend": {"MTU": 1450}}`)},
		{"flannel, links of unknown size", subnet, flannel(
			`{"Network": "10.32.0.0/16", "Backend": {"MTU": 9000}}`)},
		{"calico", subnet, calico(good, nft)},
		{"calico, its default", "cni: none, podSubnets: [192.168.0.0/16]", calico(nft)},
		{"calico, iptables", "proxy: iptables, " + subnet, calico(good)},
		{"calico, its choice", subnet, calico(good, "FELIX_NFTABLESMODE=Auto")},
		{"calico, eBPF", "proxy: none, " + subnet, calico(good, "FELIX_BPFENABLED=true") +
			configMap("kubernetes-services-endpoint", "{KUBERNETES_SERVICE_HOST: 10.0.0.10}")},
		{"calico, pools as objects", subnet, calico(nft) +
			tigera(calicoAPI, "IPPool", "a", "{cidr: 10.32.64.0/18}")},
		{"calico for policies beside flannel", subnet, flannel(`{"Network": "10.32.0.0/16"}`) +
			calico(nft, "CALICO_NETWORKING_BACKEND=none")},
		{"operator", subnet, tigera(installation, "Installation", "default",
			"{calicoNetwork: {linuxDataplane: Nftables, ipPools: [{cidr: 10.32.0.0/16}]}}")},
		{"operator for policies", own, tigera(installation, "Installation",
			"default", "{cni: {type: AmazonVPC}}")},
		{"cilium", subnet, cilium(`{ipam: kubernetes, kube-proxy-replacement: "false"}`)},
		{"cilium without kube-proxy", "proxy: none, " + subnet,
			cilium(`{ipam: kubernetes, kube-proxy-replacement: "true"}`, api)},
		{"cilium, its own parts", subnet, cilium(
			`{ipam: cluster-pool, cluster-pool-ipv4-cidr: "10.32.0.0/17 10.32.128.0/17"}`)},
		{"cilium on flannel", subnet, flannel(`{"Network": "10.32.0.0/16"}`) +
			cilium(`{ipam: kubernetes, cni-chaining-mode: generic-veth}`)},
		{"others' kinds of the same names", subnet, tigera("example.com/v1", "IPPool", "a",
			"{cidr: 192.168.0.0/16}") + tigera("example.com/v1", "Installation", "a", "{}")},
		{"policies for kiln's network", own, daemonSet("kube-network-policies")},
	} {
		p, objects := prepared(t, row.network, row.addon)
		require.Empty(t, addons.CheckNetworks(p, objects), row.name)
	}
}

const policy = "\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n" +
	"metadata: {name: deny, namespace: default}\nspec: {podSelector: {}}\n"

// TestWarnings: each row says what the cluster's pods will miss.
func TestWarnings(t *testing.T) {
	t.Parallel()
	enforcer := daemonSet("kube-network-policies")
	fits := flannel(`{"Network": "10.32.0.0/16"}`)
	for _, row := range []struct {
		name, network, addon string
		want                 []string
	}{
		{"flannel", subnet, fits, nil},
		{"an operator", subnet, tigera(installation, "Installation", "default", "{}"), nil},
		{"a network that kiln does not know", subnet, daemonSet("agent"), nil},
		{"no network", subnet, configMap("other", "{}"), []string{
			"network.cni is none, and no add-on has a pod that mounts /etc/cni/net.d: without a " +
				"CNI plugin no Node becomes Ready; bring one with addons, or apply one yourself " +
				"(docs/pod-networks.md)"}},
		{"kiln's network", own, configMap("other", "{}"), nil},
		{"no proxy", "proxy: none, " + subnet, daemonSet("agent"), []string{
			"network.proxy is none, and no add-on is known to do the work of kube-proxy: without " +
				"it no pod reaches a Service, CoreDNS among them"}},
		{"another proxy", "proxy: none, " + subnet, daemonSet("kube-router"), nil},
		{"cilium for a proxy", "proxy: none, " + subnet,
			cilium(`{ipam: kubernetes, kube-proxy-replacement: "true"}`, api), nil},
		{"cilium, and no proxy", "proxy: none, " + subnet,
			cilium(`{ipam: kubernetes, kube-proxy-replacement: "false"}`, api), []string{
				"no add-on is known to do the work of kube-proxy"}},
		{"calico for a proxy", "proxy: none, " + subnet,
			calico(good, api, "FELIX_BPFENABLED=true"), nil},
		{"an operator for a proxy", "proxy: none, " + subnet, tigera(installation, "Installation",
			"default", "{calicoNetwork: {linuxDataplane: BPF}}"), nil},
		{"policies and kiln's network", own, policy +
			strings.Replace(policy, "deny", "more", 1), []string{
			"NetworkPolicy default/deny and 1 more: nothing enforces it " +
				"with Flannel; docs/pod-networks.md says what does"}},
		{"policies and flannel", subnet, fits + policy, []string{
			"NetworkPolicy default/deny: nothing enforces it with Flannel"}},
		{"policies that flannel's companion enforces", subnet, fits + policy + enforcer, nil},
		{"policies that are enforced", own, policy + enforcer, nil},
		{"policies and calico", subnet, calico(good, nft) + policy, nil},
		{"policies and an operator", subnet, tigera(installation, "Installation", "default", "{}") +
			policy, nil},
		{"policies and an unknown network", subnet, daemonSet("agent") + policy, nil},
	} {
		p, objects := prepared(t, row.network, row.addon)
		warnings := addons.NetworkWarnings(p, objects)
		require.Len(t, warnings, len(row.want), "%s: %v", row.name, warnings)
		for i := range warnings {
			require.Contains(t, warnings[i].Message, row.want[i], row.name)
		}
	}
}
