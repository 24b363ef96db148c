package preflight

import (
	"fmt"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// network holds the checks of the machine's own network, of what other machines answer, and of what
// the platform shows to pods.
var network = []Entry{
	{
		ID: "address", Reads: "`ip address`",
		Wants:    "each of the node's addresses on an interface",
		Severity: Wait,
		Remedy:   "give it these addresses, or correct the node's",
		Source:   "etcd and the API server bind it",
		list:     "addresses",
		calls: func(f *Facts) (out []call) {
			for _, a := range f.Machine.Addresses {
				out = append(out, each(a.String())...)
			}
			return out
		},
	}, {
		ID: "route", Reads: "`ip route`", Wants: "a default route for each family of the pods",
		Severity: Warn,
		Remedy:   "add a default route, or Services are out of reach",
		Source:   "kubernetes/kubernetes#57534",
		list:     "routes",
		calls:    defaultRoutes,
	}, {
		ID: "firewalld", Reads: "`systemctl is-active`", Severity: Warn,
		Wants:   "inactive, on " + systems(mayHaveFirewalld),
		Remedy:  "open ports … and let pods' traffic through, or turn it off",
		Kubeadm: []string{"Firewalld"}, Source: "kubeadm",
		calls: firewalld,
	}, {
		ID: "nm-cloud-setup", Reads: "`systemctl is-active`",
		Wants:    "inactive, on " + systems(cloudSetup),
		Severity: Warn,
		Remedy:   "turn it off: its routing rules cut pods off",
		Source:   "rancher/rke2#1053",
		calls: func(f *Facts) []call {
			return when(cloudSetup(f.Machine.System), "is_not "+active("nm-cloud-setup.timer"))
		},
	}, {
		ID: "port", Reads: "`/proc/net/tcp`, `tcp6`",
		Wants:    "nothing listens on the ports of kubelet, control plane and etcd",
		Severity: Stop,
		Remedy:   "stop what listens there: ss -lntp",
		Kubeadm:  []string{"Port-…"}, Source: "kubeadm",
		list:  "ports_free",
		calls: func(f *Facts) []call { return each(ports(f)...) },
	}, {
		ID: "endpoint-name", Reads: "`getent hosts`",
		Wants: "the endpoint's name leads to an address, not to a loopback, " +
			"and to `controlPlane.vip` if there is one, on workers without a balancer",
		Severity: Wait,
		Remedy:   "correct the name server, /etc/hosts or endpoint",
		Source:   "the kubelet finds the API server by it",
		calls:    endpointName,
	}, {
		ID: "metadata-wall", Reads: "`kiln-wall.service`",
		Wants: "pods cannot reach the platform's metadata service, " +
			"with `security.metadataService: deny`",
		Severity: Wait,
		Remedy:   "look at: journalctl -u kiln-wall",
		Source:   "docs/security.md",
		calls: func(f *Facts) []call {
			return when(len(f.Plan.Forbidden(f.Machine)) > 0, "equals "+active(plan.WallUnit))
		},
	},
}

// active returns the words that ask whether a unit is active.
func active(unit string) string { return "active systemctl is-active " + unit }

func cloudSetup(s *target.System) bool { return s.CloudSetup }

func mayHaveFirewalld(s *target.System) bool { return s.Firewalld }

func defaultRoutes(f *Facts) []call {
	if !f.Machine.Joins() {
		return nil
	}
	out := make([]call, len(f.Plan.PodSubnets))
	for i, subnet := range f.Plan.PodSubnets {
		out[i] = call{"ipv6", "6"}
		if subnet.Addr().Is4() {
			out[i] = call{"ipv4", "4"}
		}
	}
	return out
}

// firewalld names the ports that other machines use.
func firewalld(f *Facts) []call {
	if !f.Machine.System.Firewalld {
		return nil
	}
	var open []string
	if f.Machine.Joins() {
		open = append(open, strconv.Itoa(target.KubeletPort), "30000-32767")
		for _, port := range f.Plan.PodPorts() {
			open = append(open, strconv.Itoa(port)+"/udp")
		}
	}
	if f.Machine.ControlPlane() {
		open = append(open, strconv.Itoa(target.APIServerPort))
	}
	if f.Machine.EtcdMember {
		open = append(open, fmt.Sprintf("%d-%d", target.EtcdHTTPPort, target.EtcdPeerPort))
	}
	return []call{{strings.Join(open, " "), "is_not " + active("firewalld.service")}}
}

// ports returns the ports on which the programs of the machine listen.
func ports(f *Facts) []string {
	numbers := []int{target.KubeletHealthPort}
	if f.Machine.Joins() {
		numbers = []int{target.KubeletPort, target.KubeletHealthPort}
		if f.Plan.Flannel() {
			numbers = append(numbers, target.FlannelHealthPort)
		}
	}
	if f.Machine.ControlPlane() {
		numbers = append(numbers, target.APIServerPort, target.ManagerPort, target.SchedulerPort)
		if f.Plan.HasVIP(f.Machine) {
			numbers = append(numbers, target.VIPMetricsPort)
		}
	}
	if f.Machine.EtcdMember {
		numbers = append(numbers,
			target.EtcdHTTPPort, target.EtcdClientPort, target.EtcdPeerPort, target.EtcdMetricsPort)
	}
	if f.Plan.Balanced(f.Machine) {
		numbers = append(numbers, f.Plan.BalancerPort, target.BalancerHealthPort)
	}
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// endpointName resolves the endpoint's name on a worker that uses it, to the address that kube-vip
// carries if there is one.
func endpointName(f *Facts) []call {
	if !f.Plan.EndpointIsName || !f.Machine.Worker() || f.Plan.Balanced(f.Machine) {
		return nil
	}
	text := "resolves " + f.Plan.EndpointHost
	if f.Plan.VIP.IsValid() {
		text += " " + f.Plan.VIP.String()
	}
	return one(text)
}
