package plan

import (
	"net/netip"
	"strconv"
	"strings"

	"kiln/render/config"
)

// Ports of what leads to the API servers, all on loopback.
const (
	VIPMetricsPort     = 2112 // kube-vip's metrics, which its probes ask too
	BalancerHealthPort = config.BalancerHealthPort
)

// HasVIP says that kube-vip runs on m.
func (p *Plan) HasVIP(m *Machine) bool { return p.VIP.IsValid() && m.ControlPlane() }

// Balanced says that m has a balancer of its own before the API servers.
func (p *Plan) Balanced(m *Machine) bool { return p.BalancerPort != 0 && m.Worker() }

// StaticPods says that the kubelet on m starts pods from files.
func (p *Plan) StaticPods(m *Machine) bool { return m.ControlPlane() || m.EtcdMember || p.Balanced(m) }

// Loopback is the loopback address of the cluster's main family.
func (p *Plan) Loopback() netip.Addr { return loopback(p.PodSubnets[0].Addr()) }

// BalancerURL is where a worker's balancer takes connections for the API servers.
func (p *Plan) BalancerURL() string { return url(p.Loopback().String(), p.BalancerPort) }

// ProxyURL is where kube-proxy finds the API server. One configuration is for all machines, so the balancers serve it only
// where they have the API servers' port: then loopback leads to an API server on every machine.
func (p *Plan) ProxyURL() string {
	if p.BalancerPort == APIServerPort {
		return p.BalancerURL()
	}
	return p.EndpointURL()
}

// VIPVariables are the settings of kube-vip on m, a control plane; it reads all of them from its environment. Each name is
// one of pkg/kubevip/config_envvar.go (read at 1.0).
//
// It elects a leader with both modes, over this machine's own API server: who cannot renew the Lease for three seconds, be
// it for the API server or for etcd, gives the address away within five. Without an election every control plane would
// announce a BGP route for as long as kube-vip runs, also one whose API server is dead.
func (p *Plan) VIPVariables(m *Machine) []Variable {
	vip := p.Config.Spec.ControlPlane.VIP
	out := []Variable{
		{"address", p.VIP.String()},
		{"port", strconv.Itoa(APIServerPort)},
		{"cp_enable", "true"},
		{"cp_namespace", "kube-system"},
		{"svc_enable", "false"}, // addresses of Services are somebody else's
		{"lb_enable", "false"},
		// Otherwise it dials the name "kubernetes", whatever its kubeconfig says.
		{"kubernetes_addr", m.LocalURL()},
		{"vip_nodename", m.Name},
		{"vip_leaderelection", "true"},
		{"vip_leasename", VIPLease},
		{"vip_leaseduration", "5"},
		{"vip_renewdeadline", "3"},
		{"vip_retryperiod", "1"},
		{"prometheus_server", loopback4.String() + ":" + strconv.Itoa(VIPMetricsPort)},
	}
	if vip.Interface != "" {
		out = append(out, Variable{"vip_interface", vip.Interface})
	}
	if vip.Mode != "bgp" {
		return append(out, Variable{"vip_arp", "true"})
	}
	var peers []string
	for i, peer := range vip.BGP.Peers {
		address := p.Config.Values().Routers[i].String()
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		// address:AS:password:multihop
		peers = append(peers, address+":"+strconv.FormatUint(uint64(peer.AS), 10)+"::"+strconv.FormatBool(peer.MultiHop))
	}
	return append(out,
		Variable{"bgp_enable", "true"},
		Variable{"bgp_as", strconv.FormatUint(uint64(vip.BGP.LocalAS), 10)},
		Variable{"bgp_routerid", m.routerID().String()},
		Variable{"bgp_peers", strings.Join(peers, ",")})
}

// VIPLease is the Lease in kube-system whose holder has the address; kube-vip's own name for it.
const VIPLease = "plndr-cp-lock"

// routerID is a number of four bytes that no other router of the autonomous system has, written like an address (RFC 6286):
// m's IPv4 address, or the end of its IPv6 address.
func (m *Machine) routerID() netip.Addr {
	for _, a := range m.Addresses {
		if a.Is4() {
			return a
		}
	}
	b := m.Addresses[0].As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}
