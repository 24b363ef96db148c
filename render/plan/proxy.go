package plan

import (
	"cmp"
	"net/netip"
	neturl "net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"kiln.dev/kiln/render/config"
)

// Variable is an environment variable of a program.
type Variable struct{ Name, Value string }

// ProxyVariables returns the variables that tell a program to use a proxy; none without a proxy.
// containerd and Kubernetes are Go programs, which need the upper-case names alone
// (net/http.ProxyFromEnvironment). The values consist of URLs, names, addresses and commas, so that
// a unit, a shell and YAML take them unquoted.
func (p *Plan) ProxyVariables(proxy *config.Proxy) (out []Variable) {
	https := cmp.Or(proxy.HTTPS, proxy.HTTP)
	if https == "" {
		return nil
	}
	out = append(out, Variable{"HTTPS_PROXY", https})
	if proxy.HTTP != "" {
		out = append(out, Variable{"HTTP_PROXY", proxy.HTTP})
	}
	noProxy := slices.Concat(p.direct, proxy.NoProxy)
	return append(out, Variable{"NO_PROXY", strings.Join(noProxy, ",")})
}

// ProxyFor returns the proxy through which a machine with that setting asks for a URL; empty if it
// asks directly. It decides as containerd does, so that no program on the machine has to: curl
// reads networks in NO_PROXY only from 7.86 on.
func (p *Plan) ProxyFor(proxy *config.Proxy, url string) string {
	c := httpproxy.Config{
		HTTPProxy: proxy.HTTP, HTTPSProxy: cmp.Or(proxy.HTTPS, proxy.HTTP),
		NoProxy: strings.Join(slices.Concat(p.direct, proxy.NoProxy), ","),
	}
	u, err := neturl.Parse(url)
	if err != nil {
		return ""
	}
	through, err := c.ProxyFunc()(u)
	if err != nil || through == nil {
		return ""
	}
	return through.String()
}

// mirrorWarnings warns of mirrors that look private, and that machines ask through a proxy.
func (p *Plan) mirrorWarnings() (out config.Problems) {
	seen := map[string]bool{}
	for i := range p.Machines {
		s := p.Machines[i].Settings
		asks := []string{s.Binaries.Mirror}
		for _, r := range s.Registries {
			asks = append(asks, r.Mirrors...)
		}
		for _, url := range asks {
			u, err := neturl.Parse(url)
			if err != nil || seen[u.Host] || !private(u.Hostname()) ||
				p.ProxyFor(&s.Proxy, url) == "" {
				continue
			}
			seen[u.Host] = true
			out = append(out, config.Warning(config.WarnMirror, "%s: machines ask this mirror "+
				"through the proxy, and it looks like one of your own network; if the proxy does "+
				"not reach it, add %s to proxy.noProxy", url, u.Hostname()))
		}
	}
	return out
}

// private reports whether a host looks like one of a private network: it is an address of one, a
// name without a dot, or below a domain that the public DNS does not have (RFC 6762 appendix G,
// RFC 8375).
func private(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	_, domain, _ := strings.Cut(strings.TrimSuffix(host, "."), ".")
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	switch last {
	case "", "internal", "intranet", "private", "corp", "home", "lan", "local":
		return host != ""
	}
	return domain == "home.arpa" || strings.HasSuffix(domain, ".home.arpa")
}

// inside returns what lies inside the cluster, as NO_PROXY has it; kubeadm only warns when the API
// server, a Service or a pod would be reached through a proxy. The link-local network holds the
// metadata services of platforms. Nodes are there by their networks, since the API server connects
// to every kubelet: a list of addresses would grow with the cluster, and each new worker would
// change the API servers.
func (p *Plan) inside() []string {
	out := []string{
		"localhost", "127.0.0.1", "::1", "169.254.0.0/16",
		".svc", "." + p.DNSDomain, p.EndpointHost,
	}
	if p.VIP.IsValid() && p.VIP.String() != p.EndpointHost {
		out = append(out, p.VIP.String())
	}
	out = append(out, p.Config.Values().EtcdHosts...)
	for _, net := range slices.Concat(p.PodSubnets, p.ServiceSubnets, networks(p.Machines)) {
		out = append(out, net.String())
	}
	return out
}

// networks returns the networks of the machines, each in a /24 or a /64, in order.
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
