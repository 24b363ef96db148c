package addons

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rule returns what is wrong with the values of a setting and what to write, or "".
type rule func(j *judge, values []string) string

func isJSON(_ *judge, values []string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(values[0]), &fields); err != nil {
		return fmt.Sprintf("is not a JSON object, and the network does not start: %v", err)
	}
	return ""
}

// holdsSubnets is for a network that has to hold the parts of all machines.
func holdsSubnets(j *judge, values []string) string {
	return j.compare(values, func(value, subnet netip.Prefix) bool {
		return value.Bits() <= subnet.Bits() && value.Contains(subnet.Addr())
	}, "does not hold")
}

// inSubnets is for networks from which pods get their addresses.
func inSubnets(j *judge, values []string) string {
	return j.compare(values, func(value, subnet netip.Prefix) bool {
		return value.Bits() >= subnet.Bits() && subnet.Contains(value.Addr())
	}, "is not in")
}

// compare compares each network with the pod subnet of its family.
func (j *judge) compare(
	values []string, agree func(value, subnet netip.Prefix) bool, otherwise string,
) string {
	for _, text := range values {
		value, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Sprintf("%q is not a network; write it like %s", text, j.plan.PodSubnets[0])
		}
		i := slices.IndexFunc(j.plan.PodSubnets, func(s netip.Prefix) bool {
			return s.Addr().Is4() == value.Addr().Is4()
		})
		if i < 0 {
			return fmt.Sprintf("%s is of a family that network.podSubnets does not have; "+
				"remove it, or add a network of that family there", value)
		}
		if subnet := j.plan.PodSubnets[i]; !agree(value, subnet) {
			return fmt.Sprintf("%s %s %s of network.podSubnets, where the cluster expects its "+
				"pods; write %[3]s here, or %[1]s there", value, otherwise, subnet)
		}
	}
	return ""
}

// hasFamilies is for the families of addresses that pods get.
func hasFamilies(j *judge, values []string) string {
	for _, subnet := range j.plan.PodSubnets {
		family := "IPv6"
		if subnet.Addr().Is4() {
			family = "IPv4"
		}
		if !slices.Contains(values, family) {
			return fmt.Sprintf("pods get no address of %s, and network.podSubnets has %s; "+
				"switch %[1]s on, or remove the network there", family, subnet)
		}
	}
	return ""
}

// fitsLinks is for the largest packet in bytes; 0 leaves it to the program.
func fitsLinks(j *judge, values []string) string {
	value, err := strconv.Atoi(values[0])
	if err != nil {
		return fmt.Sprintf("%q is not a number of bytes", values[0])
	}
	for i := range j.plan.Machines {
		m := &j.plan.Machines[i]
		largest := 0 // of all interfaces; unknown if one has none of its own
		for k := range m.Interfaces {
			mtu := m.Interfaces[k].MTU
			if mtu == 0 {
				largest = 0
				break
			}
			largest = max(largest, mtu)
		}
		if m.Joins() && largest > 0 && value > largest {
			return fmt.Sprintf("%d bytes are more than an interface of %s carries, which is %d; "+
				"leave it out, and the program measures", value, m.Name, largest)
		}
	}
	return ""
}

// isBackend is for the backend of Flannel. That of kiln's own is the configuration's: what follows
// from it, such as ports and kernel modules, is on the machines.
func isBackend(j *judge, values []string) string {
	want := j.plan.Config.Spec.Network.Flannel.Backend
	if !j.plan.Flannel() || values[0] == want {
		return ""
	}
	return fmt.Sprintf("%q is not network.flannel.backend, which is %s; write it there", values[0],
		want)
}

// replacesProxy is for a switch with which the program does the work of kube-proxy.
func replacesProxy(j *judge, values []string) string {
	if proxy := j.plan.Config.Spec.Network.Proxy; values[0] == "true" && proxy != "none" {
		return fmt.Sprintf("it does the work of kube-proxy, and network.proxy is %s; "+
			"write network.proxy: none", proxy)
	}
	return ""
}

// reachesAPI is for the host where a program looks for the API server.
func reachesAPI(j *judge, values []string) string {
	isProxy := func(o *object) bool { return slices.ContainsFunc(proxies, o.runs) }
	if values[0] != "" || j.plan.Config.Spec.Network.Proxy != "none" ||
		slices.ContainsFunc(j.objects, isProxy) {
		return ""
	}
	return fmt.Sprintf("not set, and with network.proxy: none nothing leads to the Service of the "+
		"API server before this program runs; set it to %s, and KUBERNETES_SERVICE_PORT to %d",
		j.plan.EndpointHost, j.plan.EndpointPort)
}

// fitsProxyMode is for Felix's nftablesMode: "To use Calico in nftables mode, your cluster's
// kube-proxy must also be in nftables mode" (docs.tigera.io, "Calico nftables data plane", 3.32).
func fitsProxyMode(j *judge, values []string) string {
	switch proxy := j.plan.Config.Spec.Network.Proxy; {
	case proxy == "nftables" && strings.EqualFold(values[0], "Disabled"):
		return "Calico writes rules for iptables, and network.proxy is nftables; " +
			"set it to Enabled, or write network.proxy: iptables"
	case proxy == "iptables" && strings.EqualFold(values[0], "Enabled"):
		return "Calico writes rules for nftables, and network.proxy is iptables; " +
			"write network.proxy: nftables"
	}
	return ""
}

// fitsDataplane is for the data plane that Calico's operator sets up.
func fitsDataplane(j *judge, values []string) string {
	switch values[0] {
	case "BPF":
		return replacesProxy(j, []string{"true"})
	case "Nftables":
		return fitsProxyMode(j, []string{"Enabled"})
	case "Iptables":
		if j.plan.Config.Spec.Network.Proxy == "nftables" {
			return "Calico writes rules for iptables, and network.proxy is nftables; " +
				"write Nftables here, or network.proxy: iptables"
		}
	}
	return ""
}
