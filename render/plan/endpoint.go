package plan

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// EndpointURL returns the API server's URL for everything outside the control plane.
func (p *Plan) EndpointURL() string { return url(p.EndpointHost, p.EndpointPort) }

// LocalURL returns the URL of the API server on m, a control plane. Its kubelet, controller-manager
// and scheduler use it, so that none of them ever talks to an API server older than itself during
// an upgrade (KEP-4471).
func (m *Machine) LocalURL() string { return url(m.Addresses[0].String(), target.APIServerPort) }

// Loopback returns the loopback address of the cluster's main family.
func (p *Plan) Loopback() netip.Addr { return loopback(p.PodSubnets[0].Addr()) }

// BalancerURL returns where a worker's balancer takes connections for the API servers.
func (p *Plan) BalancerURL() string { return url(p.Loopback().String(), p.BalancerPort) }

// APIURL returns where m's kubelet and hook find the API server, "" for an etcd machine.
func (p *Plan) APIURL(m *Machine) string {
	switch {
	case !m.Joins():
		return ""
	case m.ControlPlane():
		return m.LocalURL()
	case p.Balanced(m):
		return p.BalancerURL()
	}
	return p.EndpointURL()
}

// ProxyURL returns where kube-proxy finds the API server.
func (p *Plan) ProxyURL() string { return url(p.ProxyEndpoint()) }

// ProxyEndpoint returns where kube-proxy and Flannel find the API server, alike on all machines: at
// a balancer only where loopback leads to an API server everywhere.
func (p *Plan) ProxyEndpoint() (host string, port int) {
	if p.BalancerPort == target.APIServerPort {
		return p.Loopback().String(), p.BalancerPort
	}
	return p.EndpointHost, p.EndpointPort
}

// VIPLease is the Lease in kube-system whose holder has the address; kube-vip's own name for it.
const VIPLease = "plndr-cp-lock"

// VIPVariables returns the settings of kube-vip on m, a control plane. kube-vip reads all of them
// from its environment; each name is one of pkg/kubevip/config_envvar.go (read at 1.0).
//
// kube-vip elects a leader in both modes, through this machine's own API server. A control plane
// that cannot renew the Lease for three seconds, because of the API server or of etcd, gives the
// address away within five. Without an election every control plane would announce a BGP route for
// as long as kube-vip runs, also one whose API server is dead.
func (p *Plan) VIPVariables(m *Machine) []Variable {
	vip := p.Config.Spec.ControlPlane.VIP
	out := []Variable{
		{"address", p.VIP.String()},
		{"port", strconv.Itoa(target.APIServerPort)},
		{"cp_enable", "true"},
		{"cp_namespace", "kube-system"},
		{"svc_enable", "false"}, // kube-vip is not to carry addresses of Services
		{"lb_enable", "false"},
		// Without it kube-vip dials the name "kubernetes", whatever its kubeconfig says.
		{"kubernetes_addr", m.LocalURL()},
		{"vip_nodename", m.Name},
		{"vip_leaderelection", "true"},
		{"vip_leasename", VIPLease},
		{"vip_leaseduration", "5"},
		{"vip_renewdeadline", "3"},
		{"vip_retryperiod", "1"},
		{"prometheus_server", loopback4.String() + ":" + strconv.Itoa(target.VIPMetricsPort)},
	}
	if vip.Interface != "" {
		out = append(out, Variable{"vip_interface", vip.Interface})
	}
	if vip.Mode != "bgp" {
		return append(out, Variable{"vip_arp", "true"})
	}
	var peers []string
	for i, peer := range vip.BGP.Peers {
		router := p.Config.Values().Routers[i]
		address := router.String()
		if router.Is6() {
			address = "[" + address + "]"
		}
		// address:AS:password:multihop
		as, multiHop := strconv.FormatUint(uint64(peer.AS), 10), strconv.FormatBool(peer.MultiHop)
		peers = append(peers, address+":"+as+"::"+multiHop)
	}
	return append(out,
		Variable{"bgp_enable", "true"},
		Variable{"bgp_as", strconv.FormatUint(uint64(vip.BGP.LocalAS), 10)},
		Variable{"bgp_routerid", config.RouterID(m.Addresses).String()},
		Variable{"bgp_peers", strings.Join(peers, ",")})
}

// Fact is a property of the cluster that many files follow from.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Overview returns the facts that head the review twin and the inventory.
func (p *Plan) Overview() []Fact {
	network := &p.Config.Spec.Network
	return []Fact{
		{"endpoint", p.EndpointURL()},
		{"pod subnets", strings.Join(network.PodSubnets, ",")},
		{"service subnets", strings.Join(network.ServiceSubnets, ",")},
		{"dns domain", p.DNSDomain},
		{"pod network", p.podNetwork()},
		{"proxy", network.Proxy},
	}
}

// podNetwork returns what the machines must agree on so that their pods reach each other.
func (p *Plan) podNetwork() string {
	network := &p.Config.Spec.Network
	if p.Flannel() {
		backend := &network.Flannel
		out := network.CNI + ", " + backend.Backend
		if backend.Port != 0 {
			out += fmt.Sprintf(", port %d", backend.Port)
		}
		return out
	}
	return network.CNI
}
