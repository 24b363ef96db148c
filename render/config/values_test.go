package config_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPodCIDRs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, network, address, want string }{
		{"the documented example", "", "10.0.0.21", "10.244.21.0/24"},
		{
			"low bits of two bytes", "podSubnets: [172.16.0.0/12], nodeMaskSizes: [26]",
			"10.0.5.3", "172.17.64.192/26",
		},
		{
			"the whole subnet for one machine", "podSubnets: [10.244.7.0/24]",
			"10.0.0.21", "10.244.7.0/24",
		},
		{
			"sixteen bits", "podSubnets: [172.16.0.0/12], nodeMaskSizes: [28]",
			"10.0.255.254", "172.31.255.224/28",
		},
		{
			"IPv6", `podSubnets: ["fd00:10::/56"], serviceSubnets: ["fd00:20::/112"]`,
			"fd00::1:21", "fd00:10:0:21::/64",
		},
		{
			"IPv6, mask within a byte",
			`podSubnets: ["fd00:10::/60"], serviceSubnets: ["fd00:20::/112"], ` +
				`nodeMaskSizes: [70]`,
			"fd00::3f", "fd00:10:0:0:fc00::/70",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, header+onOS+"  network: {cni: routed, "+row.network+"}\n  nodes:\n"+
				"  - {name: a, role: control-plane, addresses: [\""+row.address+"\"], "+
				"kubelet: {maxPods: 10}}\n", nil)
			got := c.Values().Nodes[0].PodCIDRs
			require.Len(t, got, 1)
			require.Equal(t, row.want, got[0].String())
			require.Equal(t, got[0], got[0].Masked())
		})
	}
	c := parse(t, header+onOS+`  network: {cni: routed}
  nodes:
  - name: a
    role: control-plane
    addresses: [10.0.0.21]
    podCIDRs: [10.244.99.0/24]
`, nil)
	got := c.Values().Nodes[0].PodCIDRs
	require.Equal(t, "10.244.99.0/24", got[0].String())
	require.Len(t, got, 1)
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text, host string
		port       int
	}{
		{"api.example.com", "api.example.com", 6443},
		{"api.example.com:443", "api.example.com", 443},
		{"10.0.0.1", "10.0.0.1", 6443},
		{"10.0.0.1:8443", "10.0.0.1", 8443},
		{"fd00::1", "fd00::1", 6443},
		{"[fd00::1]", "fd00::1", 6443},
		{"[fd00::1]:443", "fd00::1", 443},
	}
	for _, row := range rows {
		values := parse(t, header+onOS+"  endpoint: \""+row.text+"\"\n"+oneNode, nil).Values()
		require.Equal(t, row.host, values.EndpointHost)
		require.Equal(t, row.port, values.EndpointPort)
		a, err := netip.ParseAddr(row.host)
		require.Equal(t, err == nil, values.EndpointAddress.IsValid())
		require.Equal(t, a, values.EndpointAddress)
	}
	for _, bad := range []string{
		":6443", "[fd00::1", "[fd00::1]x", "a:b", "a:1:2", "a:+1", "a:01", "a:65536",
	} {
		problems := problemsOf(t, header+onOS+"  endpoint: \""+bad+"\"\n"+oneNode, nil)
		require.Contains(t, problems, ": endpoint: ", bad)
	}
}
