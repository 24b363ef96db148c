package addons

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// setting is a value of an add-on that follows from the configuration of the cluster.
type setting struct {
	of   func(o *object) bool // the objects that have it
	key  string               // where it stands in the object, for messages
	read func(j *judge, o *object) []string
	rule rule
}

// settings are all that is compared. A value that is nil is not set, and nothing follows from that.
var settings = []setting{
	// Flannel's Documentation/configuration.md.
	{byName("kube-flannel-cfg"), netConfKey, netConfText, isJSON},
	{byName("kube-flannel-cfg"), netConfKey + ".Network", netConf("Network"), holdsSubnets},
	{byName("kube-flannel-cfg"), netConfKey + ".IPv6Network", netConf("IPv6Network"), holdsSubnets},
	{byName("kube-flannel-cfg"), netConfKey, flannelFamilies, hasFamilies},
	{byName("kube-flannel-cfg"), netConfKey + ".Backend.MTU", flannelBackend("MTU"), fitsLinks},
	{byName("kube-flannel-cfg"), netConfKey + ".Backend.Type", flannelBackend("Type"), isBackend},

	// docs.tigera.io/calico: "Configuring calico/node", "Felix configuration".
	{runs("calico-node"), "env CALICO_IPV4POOL_CIDR", calicoPool, inSubnets},
	{runs("calico-node"), "env CALICO_IPV6POOL_CIDR", env("calico-node", "CALICO_IPV6POOL_CIDR"),
		inSubnets},
	{runs("calico-node"), "env FELIX_IPV6SUPPORT", calicoFamilies, hasFamilies},
	{runs("calico-node"), "env FELIX_NFTABLESMODE", calicoTables, fitsProxyMode},
	{runs("calico-node"), "env FELIX_BPFENABLED", env("calico-node", "FELIX_BPFENABLED"),
		replacesProxy},
	{runs("calico-node"), "env KUBERNETES_SERVICE_HOST", serviceHost("calico-node"), reachesAPI},
	{byName("calico-config"), "data.veth_mtu", field("data", "veth_mtu"), fitsLinks},
	{calicoKind("IPPool"), "spec.cidr", field("spec", "cidr"), inSubnets},
	{calicoKind("Installation"), "spec.calicoNetwork.ipPools", installationPools, inSubnets},
	{calicoKind("Installation"), "spec.calicoNetwork.mtu", field("spec", "calicoNetwork", "mtu"),
		fitsLinks},
	{calicoKind("Installation"), "spec.calicoNetwork.linuxDataplane",
		field("spec", "calicoNetwork", "linuxDataplane"), fitsDataplane},

	// The keys of cilium-config in Cilium's chart, templates/cilium-configmap.yaml.
	{byName("cilium-config"), "data.cluster-pool-ipv4-cidr", ciliumPool("ipv4"), inSubnets},
	{byName("cilium-config"), "data.cluster-pool-ipv6-cidr", ciliumPool("ipv6"), inSubnets},
	{byName("cilium-config"), "data.enable-ipv4, enable-ipv6", ciliumFamilies, hasFamilies},
	{byName("cilium-config"), "data.kube-proxy-replacement",
		field("data", "kube-proxy-replacement"), replacesProxy},
	{byName("cilium-config"), "data.mtu", field("data", "mtu"), fitsLinks},
	{runs("cilium-agent"), "env KUBERNETES_SERVICE_HOST", serviceHost("cilium-agent"), reachesAPI},
}

// byName selects the ConfigMap of that name.
func byName(name string) func(*object) bool {
	return func(o *object) bool { return o.is("ConfigMap", name) }
}

// runs selects the DaemonSets whose pods have a container of that name.
func runs(container string) func(*object) bool {
	return func(o *object) bool { return o.Kind == "DaemonSet" && o.runs(container) }
}

// calicoKind selects the objects of a kind of Calico's.
func calicoKind(kind string) func(*object) bool {
	return func(o *object) bool { return o.Kind == kind && o.calico() }
}

// field reads the value at a path of keys.
func field(keys ...string) func(*judge, *object) []string {
	return func(_ *judge, o *object) []string {
		if value := o.at(keys...); value != nil {
			return []string{fmt.Sprint(value)}
		}
		return nil
	}
}

// env reads an environment variable.
func env(container, name string) func(*judge, *object) []string {
	return func(_ *judge, o *object) []string {
		if value := o.env(container, name); value != "" {
			return []string{value}
		}
		return nil
	}
}

// serviceHost reads where a container looks for the API server: in its environment, or where
// Calico's eBPF data plane reads it. The value is "" if it is the Service, which needs a proxy.
func serviceHost(container string) func(*judge, *object) []string {
	return func(j *judge, o *object) []string {
		if host := o.env(container, "KUBERNETES_SERVICE_HOST"); host != "" {
			return []string{host}
		}
		return []string{
			j.configMap("kubernetes-services-endpoint").text("data", "KUBERNETES_SERVICE_HOST"),
		}
	}
}

const netConfKey = `data["net-conf.json"]`

func netConfText(_ *judge, o *object) []string {
	return []string{o.text("data", "net-conf.json")}
}

// netConfFields returns Flannel's configuration; nil if it is not JSON.
func netConfFields(o *object) (fields map[string]any) {
	if json.Unmarshal([]byte(o.text("data", "net-conf.json")), &fields) != nil {
		return nil
	}
	return fields
}

// netConf reads a string of Flannel's configuration.
func netConf(key string) func(*judge, *object) []string {
	return func(_ *judge, o *object) []string {
		if value, _ := netConfFields(o)[key].(string); value != "" {
			return []string{value}
		}
		return nil
	}
}

// flannelBackend reads a field of Flannel's backend.
func flannelBackend(key string) func(*judge, *object) []string {
	return func(_ *judge, o *object) []string {
		backend, _ := netConfFields(o)["Backend"].(map[string]any)
		if value := backend[key]; value != nil {
			return []string{fmt.Sprint(value)}
		}
		return nil
	}
}

// flannelFamilies reads the families that Flannel gives pods: IPv4 unless it is off.
func flannelFamilies(_ *judge, o *object) []string {
	fields := netConfFields(o)
	if fields == nil {
		return nil
	}
	families := []string{} // not nil, also with both off
	if on, set := fields["EnableIPv4"].(bool); on || !set {
		families = append(families, "IPv4")
	}
	if on, _ := fields["EnableIPv6"].(bool); on {
		families = append(families, "IPv6")
	}
	return families
}

// calicoDefault is the network that Calico takes if nothing names one, as long as no machine has an
// address in it.
const calicoDefault = "192.168.0.0/16"

// calicoPool reads the network of IPv4 that Calico makes its first pool of, if it makes one.
func calicoPool(j *judge, o *object) []string {
	if value := o.env("calico-node", "CALICO_IPV4POOL_CIDR"); value != "" {
		return []string{value}
	}
	isPool := func(o *object) bool { return o.Kind == "IPPool" && o.calico() }
	if slices.ContainsFunc(j.objects, isPool) {
		return nil
	}
	if o.env("calico-node", "NO_DEFAULT_POOLS") == "true" || programs[1].beside(j, o) {
		return nil
	}
	return []string{calicoDefault}
}

// calicoFamilies reads the families that Calico gives pods: IPv6 only if it is on.
func calicoFamilies(j *judge, o *object) []string {
	switch {
	case programs[1].beside(j, o):
		return nil
	case o.env("calico-node", "FELIX_IPV6SUPPORT") == "true":
		return []string{"IPv4", "IPv6"}
	}
	return []string{"IPv4"}
}

// calicoTables reads whether Calico writes its rules with nftables. Its environment wins over its
// FelixConfiguration.
func calicoTables(j *judge, o *object) []string {
	value := o.env("calico-node", "FELIX_NFTABLESMODE")
	for _, other := range j.objects {
		if value == "" && other.is("FelixConfiguration", "default") && other.calico() {
			value = other.text("spec", "nftablesMode")
		}
	}
	if value == "" && !j.felix {
		value = "Disabled"
	}
	return []string{value}
}

// installationPools reads the networks of the pools that Calico's operator makes.
func installationPools(_ *judge, o *object) (pools []string) {
	list, _ := o.at("spec", "calicoNetwork", "ipPools").([]any)
	for _, element := range list {
		pool, _ := element.(map[string]any)
		if cidr, _ := pool["cidr"].(string); cidr != "" {
			pools = append(pools, cidr)
		}
	}
	return pools
}

// ciliumPool reads the networks from which Cilium gives machines their parts. In its other modes
// they come from elsewhere: with ipam kubernetes, from network.podSubnets.
func ciliumPool(family string) func(*judge, *object) []string {
	return func(_ *judge, o *object) []string {
		if o.text("data", "ipam") != "cluster-pool" {
			return nil
		}
		return strings.Fields(o.text("data", "cluster-pool-"+family+"-cidr"))
	}
}

func ciliumFamilies(_ *judge, o *object) (families []string) {
	if o.text("data", "enable-ipv4") != "false" {
		families = append(families, "IPv4")
	}
	if o.text("data", "enable-ipv6") == "true" {
		families = append(families, "IPv6")
	}
	return families
}
