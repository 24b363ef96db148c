package plan

import (
	"strconv"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

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
