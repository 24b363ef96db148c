package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// more are two control planes and a worker beside the first control plane.
const more = `  - {name: cp-2, role: control-plane, addresses: [10.0.0.12]}
  - {name: cp-3, role: control-plane, addresses: [10.0.0.13]}
  - {name: w-1, role: worker, addresses: [10.0.0.21]}
`

// TestWays: where control planes, workers, kube-proxy and the operator find the API server, with
// each way to an endpoint.
func TestWays(t *testing.T) {
	t.Parallel()
	const (
		own   = "https://10.0.0.11:6443"
		name  = "https://api.test:6443"
		vip   = "https://10.0.0.10:6443"
		local = "https://127.0.0.1:6443"
		other = "https://127.0.0.1:7443"

		byName   = "  endpoint: api.test\n"
		byVIP    = "  endpoint: 10.0.0.10\n  controlPlane: {vip: {}}\n"
		withVIP  = "  controlPlane: {vip: {address: 10.0.0.10}}\n"
		balancer = "  workers: {localBalancer: {}}\n"
		another  = "  workers: {localBalancer: {port: 7443}}\n"
	)
	carrier, proxy := []string{target.KubeVIP}, []string{target.HAProxy}
	both := []string{target.KubeVIP, target.HAProxy}
	for _, row := range []struct {
		name, spec                            string
		controlPlane, worker, proxy, operator string
		images                                []string
	}{
		{"given", byName, own, name, name, name, nil},
		{"vip", byVIP, own, vip, vip, vip, carrier},
		{"vip's address alone", withVIP, own, vip, vip, vip, carrier},
		{"vip behind a name", byName + withVIP, own, name, name, name, carrier},
		{"balancer", byName + balancer, own, local, local, name, proxy},
		{"balancer on another port", byName + another, own, other, name, name, proxy},
		{"both", byVIP + balancer, own, local, local, vip, both},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := parse(t, debian+row.spec, more)
			require.Equal(t, row.controlPlane, p.APIURL(&p.Machines[0]))
			require.Equal(t, row.worker, p.APIURL(&p.Machines[3]))
			require.Equal(t, row.proxy, p.ProxyURL())
			require.Equal(t, row.operator, p.EndpointURL())
			used := p.UsedImages()
			for _, image := range []string{target.KubeVIP, target.HAProxy} {
				require.Equal(t, slices.Contains(row.images, image), used[image] != "", image)
			}
		})
	}
}

// TestVIPNames: the certificate is for the address that kube-vip carries, also when the endpoint is
// a name, and no proxy is used for the address.
func TestVIPNames(t *testing.T) {
	t.Parallel()
	p := parse(t, debian+`
  endpoint: api.test
  controlPlane: {vip: {address: 10.0.0.10}}
`, more)
	names := p.APIServerNames()
	require.Contains(t, names.DNS, "api.test")
	require.Contains(t, names.IPs, p.VIP)
	require.Equal(t, "10.0.0.10", p.VIP.String())
	variables := p.ProxyVariables(&config.Proxy{HTTP: "http://proxy.test:3128"})
	require.Contains(t, variables[len(variables)-1].Value, ",10.0.0.10,")
}

// TestVIPVariables: the settings of kube-vip, beside what the goldens show.
func TestVIPVariables(t *testing.T) {
	t.Parallel()
	variables := func(vip string) map[string]string {
		p := parse(t, debian+"  endpoint: 10.0.0.10\n  controlPlane:\n    vip:"+vip, more)
		out := map[string]string{}
		for _, v := range p.VIPVariables(&p.Machines[p.ControlPlanes[0]]) {
			require.NotContains(t, out, v.Name)
			out[v.Name] = v.Value
		}
		return out
	}
	arp := variables(" {interface: bond0.7}\n")
	require.Equal(t, "true", arp["vip_arp"])
	require.Equal(t, "bond0.7", arp["vip_interface"])
	require.Equal(t, "https://10.0.0.11:6443", arp["kubernetes_addr"])
	require.NotContains(t, arp, "bgp_enable")

	bgp := variables(`
      mode: bgp
      bgp:
        localAS: 4200000000
        peers:
        - {address: 10.0.0.1, as: 65001}
        - {address: '2001:db8::1', as: 65002, multiHop: true}
`)
	require.NotContains(t, bgp, "vip_arp")
	require.Equal(t, "lo", bgp["vip_interface"])
	require.Equal(t, "4200000000", bgp["bgp_as"])
	require.Equal(t, "10.0.0.11", bgp["bgp_routerid"])
	require.Equal(t, "10.0.0.1:65001::false,[2001:db8::1]:65002::true", bgp["bgp_peers"])
	require.Equal(t, "true", bgp["vip_leaderelection"])
}
