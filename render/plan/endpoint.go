package plan

import (
	"net/netip"

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

// APIURL returns where m's kubelet and hook find the API server: its own on a control plane, else
// its balancer or the endpoint. It is empty for an etcd machine, which needs none.
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

// ProxyEndpoint returns where kube-proxy and Flannel find the API server. All machines share one
// configuration, so the balancers serve them only where they have the API servers' port: loopback
// then leads to an API server on every machine.
func (p *Plan) ProxyEndpoint() (host string, port int) {
	if p.BalancerPort == target.APIServerPort {
		return p.Loopback().String(), p.BalancerPort
	}
	return p.EndpointHost, p.EndpointPort
}
