package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// network holds the checks of the machine's own network, of what other machines answer, and of what
// the platform shows to pods.
var network = []Entry{
	{
		ID: "address-…", Reads: "`ip address`",
		Wants:    "each of the node's addresses on an interface",
		Severity: Wait,
		Remedy:   "give the machine this address, or correct the node's addresses",
		Source:   "etcd and the API server bind it",
		calls: func(f *Facts) []call {
			return each("address", addressStrings(f.Machine.Addresses))
		},
	}, {
		ID: "address-taken-…", Reads: "`arping -D`, where it is",
		Wants:    "no other machine answers for the node's IPv4 addresses",
		Severity: Warn,
		Remedy:   "turn the other machine off, or correct the addresses",
		Source:   "RFC 5227; the kernel looks for IPv6 duplicates itself",
		calls: func(f *Facts) []call {
			is6 := func(a netip.Addr) bool { return !a.Is4() }
			only4 := slices.DeleteFunc(slices.Clone(f.Machine.Addresses), is6)
			return each("unshared", addressStrings(only4))
		},
	}, {
		ID: "route-…", Reads: "`ip route`", Wants: "a default route for each family of the pods",
		Severity: Warn,
		Remedy:   "add a default route: without one, Services are out of reach",
		Source:   "kubernetes/kubernetes#57534",
		calls:    defaultRoutes,
	}, {
		ID: "firewalld", Reads: "`systemctl is-active`", Wants: "inactive", Severity: Warn,
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
			return when(cloudSetup(&f.Machine.System), "inactive nm-cloud-setup.timer")
		},
	}, {
		ID: "port-…", Reads: "`/proc/net/tcp`, `tcp6`",
		Wants:    "nothing listens on the ports of kubelet, control plane and etcd",
		Severity: Stop,
		Remedy:   "stop the program that listens there: ss -lntp",
		Kubeadm:  []string{"Port-…"}, Source: "kubeadm",
		calls: func(f *Facts) []call { return each("port-free", ports(f)) },
	}, {
		ID: "endpoint-name", Reads: "`getent hosts`",
		Wants: "the endpoint's name leads to an address, not to a loopback, " +
			"and to `controlPlane.vip` if there is one, on workers without a balancer",
		Severity: Wait,
		Remedy:   "correct the name server, /etc/hosts or endpoint",
		Source:   "the kubelet finds the API server by it",
		calls:    endpointName,
	}, {
		ID: "endpoint-certificate", Reads: "a TLS handshake",
		Wants: "what answers at the endpoint, or behind the balancer at each control plane, " +
			"has a certificate of this cluster, on workers",
		Severity: Stop,
		Remedy:   "another cluster answers: correct endpoint, or use documents of one bundle",
		Source:   "kubeadm join fails late",
		calls:    endpointCertificate,
	}, {
		ID: "peer-…", Reads: "a TLS handshake",
		Wants:    "what answers at each other etcd member has a certificate of this cluster",
		Severity: Stop,
		Remedy: "another cluster answers: correct the node's addresses, " +
			"or use documents of one bundle",
		Source: "two clusters with equal addresses must not mix",
		calls:  peers,
	}, {
		ID: "metadata-wall", Reads: "`kiln-wall.service`",
		Wants: "pods cannot reach the platform's metadata service, " +
			"with `security.metadataService: deny`",
		Severity: Wait,
		Remedy: "journalctl -u kiln-wall says why; " +
			"set security.metadataService: allow to do without",
		Source: "docs/security.md",
		calls: func(f *Facts) []call {
			return when(len(f.Plan.Forbidden(f.Machine)) > 0, "active "+plan.WallUnit)
		},
	},
}

func cloudSetup(s *target.System) bool { return s.CloudSetup }

func addressStrings(addresses []netip.Addr) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = a.String()
	}
	return out
}

func defaultRoutes(f *Facts) []call {
	if !f.Machine.Joins() {
		return nil
	}
	out := make([]call, len(f.Plan.PodSubnets))
	for i, subnet := range f.Plan.PodSubnets {
		out[i] = call{"ipv6", "route 6"}
		if subnet.Addr().Is4() {
			out[i] = call{"ipv4", "route 4"}
		}
	}
	return out
}

// firewalld names the ports that other machines use.
func firewalld(f *Facts) []call {
	var open []string
	if f.Machine.Joins() {
		open = append(open, strconv.Itoa(target.KubeletPort), "30000-32767")
	}
	if f.Machine.Joins() {
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
	return []call{{strings.Join(open, " "), "inactive firewalld.service"}}
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

// endpointCertificate asks the servers that a worker's kubelet will ask: the endpoint, or the
// control planes themselves where there is a balancer, which is one of the kubelet's own pods.
func endpointCertificate(f *Facts) (out []call) {
	if !f.Plan.Balanced(f.Machine) {
		return when(f.Machine.Worker(), handshake(f, f.Plan.EndpointURL(), plan.CACert))
	}
	for _, i := range f.Plan.ControlPlanes {
		out = append(out, one(handshake(f, f.Plan.Machines[i].LocalURL(), plan.CACert))...)
	}
	return out
}

func peers(f *Facts) (out []call) {
	for _, peer := range f.Peers {
		out = append(out, call{peer.Name, handshake(f, peer.URL, plan.EtcdOwnCA)})
	}
	return out
}

// handshake returns the call that compares the certificate at a URL with a CA, from the time on
// when the machine's own certificates are valid.
func handshake(f *Facts, url, ca string) string {
	return fmt.Sprintf("trusted %s %s %s", url, ca, seconds(f.From))
}
