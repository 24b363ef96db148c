package config

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) endpoint() {
	at, text := v.spec.Key("endpoint"), v.c.Spec.Endpoint
	if !v.has(at) {
		if len(v.controlPlanes) > 1 && v.c.Spec.ControlPlane.VIP == nil {
			v.report(at, "missing; with %d control planes write the name or address of the load "+
				"balancer in front of them, or an address for controlPlane.vip",
				len(v.controlPlanes))
		}
		return
	}
	host, a := v.values.EndpointHost, v.values.EndpointAddress
	if host == "" {
		_, _, err := splitEndpoint(text)
		v.report(at, "%s %s", quote(text), err)
		return
	}
	if !a.IsValid() {
		switch problem := hostProblem(host); {
		case allDigits.MatchString(host):
			v.report(at, "%s is not an IP address; write it like 10.0.0.10:6443", quote(text))
		case host == "localhost" || strings.HasSuffix(host, ".localhost"):
			v.report(at, "%s means every machine itself; "+
				"write a name or address that all machines share", quote(text))
		case problem != "":
			v.report(at, "the host of %s %s", quote(text), problem)
		default:
			v.namedEndpoint(at)
		}
		return
	}
	if problem := addressProblem(a); problem != "" {
		v.report(at, "%s %s", quote(text), problem)
		return
	}
	v.outside(a, at)
	if vip := v.c.Spec.ControlPlane.VIP; vip == nil && !v.fits(a.Is4()) {
		v.warn(WarnFamily, at, "%s is %s, and the addresses of the machines are %s; they need the "+
			"other family too to reach it", a, family(a.Is4()), families(v.pods))
	}
	if v.c.Spec.ControlPlane.VIP == nil { // else vip compares the two
		v.ownEndpoint(at)
	}
}

// namedEndpoint checks an endpoint that is the name of a machine. A machine resolves its own name
// to itself (nss-myhostname(8), and /etc/hosts on systems with cloud-init).
func (v *checker) namedEndpoint(at *yamltext.Location) {
	for i := range v.c.Spec.Nodes {
		n := &v.c.Spec.Nodes[i]
		if n.Name == v.values.EndpointHost && n.Role != roleControlPlane {
			v.report(at, "%s is the name of a machine without an API server (nodes[%d])%s; "+
				"write another name for the endpoint, or rename the machine",
				quote(n.Name), i, v.line(v.spec.Key("nodes").Index(i).Key("name")))
		}
	}
}

// ownEndpoint checks an endpoint that is the address of a machine. The kubelet of a worker has a
// certificate for its address, by which it could answer for the API server there, and all machines
// would obey.
func (v *checker) ownEndpoint(at *yamltext.Location) {
	a, port := v.values.EndpointAddress, v.values.EndpointPort
	for _, i := range v.controlPlanes {
		n := &v.c.Spec.Nodes[i]
		if !v.hasAddress(i, a) {
			continue
		}
		if port != target.APIServerPort {
			v.report(at, "%s is the address of %s, whose API server listens on port %d; "+
				"write that port, or the address of what forwards to it",
				a, n.Name, target.APIServerPort)
		} else if len(v.controlPlanes) > 1 {
			v.report(at, "%s is the address of %s alone; with %d control planes write that of "+
				"the load balancer in front of them, a name that stands for all of them, "+
				"or an address of its own with controlPlane.vip: {}",
				a, n.Name, len(v.controlPlanes))
		}
		return
	}
	for i := range v.c.Spec.Nodes {
		n := &v.c.Spec.Nodes[i]
		switch {
		case n.Role == roleControlPlane || !v.hasAddress(i, a):
		case port == target.APIServerPort:
			v.report(at, "%s is the address of %s, which has no API server; write that of a "+
				"control plane, or of a load balancer in front of them", a, n.Name)
		default:
			v.report(at, "%s is the address of %s, whose kubelet could answer for the API "+
				"server; let the load balancer there listen at an address of its own", a, n.Name)
		}
	}
}

// endpointAlias checks that a host alias of machines with a role does not send the endpoint's name
// to where no API server is. names are those of the alias.
func (v *checker) endpointAlias(a netip.Addr, names []string, role string, at *yamltext.Location) {
	if host := v.values.EndpointHost; host == "" || !slices.Contains(names, host) {
		return
	}
	v.outside(a, at)
	for i, n := range v.c.Spec.Nodes {
		if n.Role != roleControlPlane && v.hasAddress(i, a) {
			v.report(at, "sends the endpoint's name to %s (%s), which has no API server; write "+
				"the address of the load balancer, or remove the name", a, n.Name)
		}
	}
	if a.IsLoopback() && role != roleControlPlane {
		v.warn(WarnEndpointName, at, "sends the endpoint's name to the machine itself, where "+
			"kiln has no API server or balancer; write the address of the load balancer")
	}
}

// reachesEndpoint checks that the interfaces of a worker, if all its addresses are written here,
// lead to the endpoint: one is in its network, or has a router.
func (v *checker) reachesEndpoint(m settings, i int) {
	a, list := v.values.EndpointAddress, v.c.Spec.Nodes[i].Interfaces
	if !a.IsValid() || len(list) == 0 || v.c.Spec.Workers.LocalBalancer != nil {
		return
	}
	holds := func(p netip.Prefix) bool { return p.IsValid() && p.Contains(a) }
	for j, n := range v.values.Nodes[i].Interfaces {
		if list[j].DHCP4 || list[j].DHCP6 || len(n.Gateways) > 0 ||
			slices.ContainsFunc(n.Addresses, holds) ||
			slices.ContainsFunc(n.Routes, func(r RouteValues) bool { return holds(r.To) }) {
			return
		}
	}
	v.report(m.at.Key("interfaces"), "the endpoint %s is in no network of these interfaces, and "+
		"none has a router, so that the machine never joins; add gateways to one of them", a)
}

// firstPort is the lowest port of a balancer on a worker. Only root may listen on lower ones.
const firstPort = 1024

var takenPorts = map[int]string{
	target.BalancerHealthPort: "the balancer's own health",
	target.FlannelHealthPort:  "Flannel's health",
	target.KubeletHealthPort:  "the kubelet's health",
	target.ProxyMetricsPort:   "kube-proxy's metrics",
	target.KubeletPort:        "the kubelet",
	target.KubeletReadPort:    "the kubelet's read-only server",
	target.ProxyHealthPort:    "kube-proxy's health",
}

func (v *checker) localBalancer() {
	b, at := v.c.Spec.Workers.LocalBalancer, v.spec.Key("workers").Key("localBalancer").Key("port")
	if b == nil {
		return
	}
	switch {
	case b.Port < firstPort || b.Port > math.MaxUint16:
		v.report(at, "%d is out of range; write %d to %d: the balancer does not run as root",
			b.Port, firstPort, math.MaxUint16)
	case b.Port >= target.FirstNodePort && b.Port <= target.LastNodePort:
		v.report(at, "%d is one of the ports of Services (%d-%d); write another",
			b.Port, target.FirstNodePort, target.LastNodePort)
	case takenPorts[b.Port] != "":
		v.report(at, "%d is the port of %s; write another", b.Port, takenPorts[b.Port])
	}
}
