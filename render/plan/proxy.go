package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"kiln/render/config"
)

// Variable is an environment variable of a program.
type Variable struct{ Name, Value string }

// ProxyVariables are the variables that tell a program of a proxy; none if there is no proxy. containerd and
// Kubernetes are Go programs, for which the upper-case names suffice (net/http.ProxyFromEnvironment). The values are made of
// URLs, names, addresses and commas: a unit, a shell and YAML take them as they are.
func (p *Plan) ProxyVariables(proxy *config.Proxy) (out []Variable) {
	https := cmp.Or(proxy.HTTPS, proxy.HTTP)
	if https == "" {
		return nil
	}
	out = append(out, Variable{"HTTPS_PROXY", https})
	if proxy.HTTP != "" {
		out = append(out, Variable{"HTTP_PROXY", proxy.HTTP})
	}
	return append(out, Variable{"NO_PROXY", strings.Join(slices.Concat(p.direct, proxy.NoProxy), ",")})
}

// inside is what lies inside the cluster, as NO_PROXY has it: kubeadm only warns when the API server, a Service or a pod
// would be reached through a proxy. Link-local are the metadata services of platforms. The nodes count by their networks,
// since the API server asks every kubelet: a list of addresses would grow with the cluster, and change the API servers with
// each new worker.
func (p *Plan) inside() []string {
	out := []string{"localhost", "127.0.0.1", "::1", "169.254.0.0/16", ".svc", "." + p.DNSDomain, p.EndpointHost}
	if p.VIP.IsValid() && p.VIP.String() != p.EndpointHost {
		out = append(out, p.VIP.String())
	}
	out = append(out, p.Config.Values().EtcdHosts...)
	for _, net := range slices.Concat(p.PodSubnets, p.ServiceSubnets, networks(p.Machines)) {
		out = append(out, net.String())
	}
	return out
}

// networks are the networks of the machines, taken to be /24 and /64, in order.
func networks(machines []Machine) (out []netip.Prefix) {
	for i := range machines {
		for _, a := range machines[i].Addresses {
			bits := 64
			if a.Is4() {
				bits = 24
			}
			out = append(out, netip.PrefixFrom(a, bits).Masked())
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return slices.Compact(out)
}
