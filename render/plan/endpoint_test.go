package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/config"
	"kiln/render/plan"
)

const more = "  - {name: cp-2, role: control-plane, addresses: [10.0.0.12]}\n  - {name: cp-3, role: control-plane, addresses: [10.0.0.13]}\n" +
	"  - {name: w-1, role: worker, addresses: [10.0.0.21]}\n"

// TestWays: who finds the API server where, by each way to an endpoint.
func TestWays(t *testing.T) {
	t.Parallel()
	const own, name, vip, local = "https://10.0.0.11:6443", "https://api.test:6443", "https://10.0.0.10:6443", "https://127.0.0.1:6443"
	for _, row := range []struct {
		name, spec                            string
		controlPlane, worker, proxy, operator string
		images                                []string
	}{
		{"given", "  endpoint: api.test\n", own, name, name, name, nil},
		{"vip", "  endpoint: 10.0.0.10\n  controlPlane: {vip: {}}\n", own, vip, vip, vip, []string{plan.KubeVIP}},
		{"vip's address alone", "  controlPlane: {vip: {address: 10.0.0.10}}\n", own, vip, vip, vip, []string{plan.KubeVIP}},
		{"vip behind a name", "  endpoint: api.test\n  controlPlane: {vip: {address: 10.0.0.10}}\n", own, name, name, name, []string{plan.KubeVIP}},
		{"balancer", "  endpoint: api.test\n  workers: {localBalancer: {}}\n", own, local, local, name, []string{plan.HAProxy}},
		{"balancer on another port", "  endpoint: api.test\n  workers: {localBalancer: {port: 7443}}\n", own, "https://127.0.0.1:7443", name, name, []string{plan.HAProxy}},
		{"both", "  endpoint: 10.0.0.10\n  controlPlane: {vip: {}}\n  workers: {localBalancer: {}}\n", own, local, local, vip, []string{plan.HAProxy, plan.KubeVIP}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := parse(t, debian+row.spec, more)
			require.Equal(t, row.controlPlane, p.APIURL(&p.Machines[0]))
			require.Equal(t, row.worker, p.APIURL(&p.Machines[3]))
			require.Equal(t, row.proxy, p.ProxyURL())
			require.Equal(t, row.operator, p.EndpointURL())
			used := p.UsedImages()
			for _, name := range []string{plan.KubeVIP, plan.HAProxy} {
				require.Equal(t, strings.Contains(strings.Join(row.images, " "), name), used[name] != "", name)
			}
		})
	}
}

// TestVIPNames: the certificate is for the address that kube-vip carries, also when the endpoint is a name, and nothing goes
// to it through a proxy.
func TestVIPNames(t *testing.T) {
	t.Parallel()
	p := parse(t, debian+"  endpoint: api.test\n  controlPlane: {vip: {address: 10.0.0.10}}\n", more)
	names := p.APIServerNames()
	require.Contains(t, names.DNS, "api.test")
	require.Contains(t, names.IPs, p.VIP)
	require.Equal(t, "10.0.0.10", p.VIP.String())
	variables := p.ProxyVariables(&config.Proxy{HTTP: "http://proxy.test:3128"})
	require.Contains(t, variables[len(variables)-1].Value, ",10.0.0.10,")
}

// TestVIPVariables: what kube-vip is told, beside what the goldens show.
func TestVIPVariables(t *testing.T) {
	t.Parallel()
	told := func(spec, nodes string) map[string]string {
		p := parse(t, debian+spec, nodes)
		out := map[string]string{}
		for _, v := range p.VIPVariables(&p.Machines[p.ControlPlanes[0]]) {
			require.NotContains(t, out, v.Name)
			out[v.Name] = v.Value
		}
		return out
	}
	arp := told("  endpoint: 10.0.0.10\n  controlPlane: {vip: {interface: bond0.7}}\n", more)
	require.Equal(t, "true", arp["vip_arp"])
	require.Equal(t, "bond0.7", arp["vip_interface"])
	require.Equal(t, "https://10.0.0.11:6443", arp["kubernetes_addr"])
	require.NotContains(t, arp, "bgp_enable")

	bgp := told("  endpoint: 10.0.0.10\n  controlPlane: {vip: {mode: bgp, bgp: {localAS: 4200000000, peers: [{address: 10.0.0.1, as: 65001}, {address: '2001:db8::1', as: 65002, multiHop: true}]}}}\n", more)
	require.NotContains(t, bgp, "vip_arp")
	require.Equal(t, "lo", bgp["vip_interface"])
	require.Equal(t, "4200000000", bgp["bgp_as"])
	require.Equal(t, "10.0.0.11", bgp["bgp_routerid"])
	require.Equal(t, "10.0.0.1:65001::false,[2001:db8::1]:65002::true", bgp["bgp_peers"])
	require.Equal(t, "true", bgp["vip_leaderelection"])
}
