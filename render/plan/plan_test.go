package plan_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/target"
)

// parse returns the plan of a cluster of one control plane whose spec holds the lines.
func parse(t *testing.T, spec, nodes string) *plan.Plan {
	t.Helper()
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n  kubernetesVersion: v1.36.3\n" + spec +
		"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n" + nodes
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	p := plan.New(c)
	return p
}

const debian = "  machines: {os: debian}\n"

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ endpoint, want string }{
		"absent":         {"", "https://10.0.0.11:6443"},
		"name":           {"api.example.com", "https://api.example.com:6443"},
		"name and port":  {"api.example.com:443", "https://api.example.com:443"},
		"IPv4":           {"192.0.2.1", "https://192.0.2.1:6443"},
		"IPv4 and port":  {"192.0.2.1:443", "https://192.0.2.1:443"},
		"IPv6":           {"2001:db8::1", "https://[2001:db8::1]:6443"},
		"IPv6 brackets":  {"[2001:db8::1]", "https://[2001:db8::1]:6443"},
		"IPv6 with port": {"[2001:db8::1]:443", "https://[2001:db8::1]:443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := debian
			if row.endpoint != "" {
				spec += fmt.Sprintf("  endpoint: %q\n", row.endpoint)
			}
			require.Equal(t, row.want, parse(t, spec, "").EndpointURL())
		})
	}
}

// TestNames: every name and address by which a client may reach an API server.
func TestNames(t *testing.T) {
	t.Parallel()
	p := parse(t, debian+"  endpoint: api.example.com\n  network: {dnsDomain: k8s.test}\n  controlPlane: {apiServer: {certSANs: [192.0.2.7, '*.example.com']}}\n", "")
	n := p.APIServerNames()
	require.Equal(t, []string{"*.example.com", "api.example.com", "cp-1", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.k8s.test", "localhost"}, n.DNS)
	var ips []string
	for _, ip := range n.IPs {
		ips = append(ips, ip.String())
	}
	require.Equal(t, []string{"10.0.0.11", "10.96.0.1", "127.0.0.1", "192.0.2.7", "::1"}, ips)
}

func value(args []config.Arg, name string) []string {
	var out []string
	for _, a := range args {
		if a.Name == name {
			out = append(out, a.Value)
		}
	}
	return out
}

// TestExtraArgs: a flag of the user's replaces ours of that name, repeated ones all stay, and order is theirs.
func TestExtraArgs(t *testing.T) {
	t.Parallel()
	p := parse(t, debian+"  controlPlane:\n    apiServer:\n      extraArgs:\n      - {name: authorization-mode, value: RBAC}\n      - {name: v, value: '2'}\n      - {name: v, value: '3'}\n", "")
	args := p.APIServerFlags(&p.Machines[0]).Args()
	require.Equal(t, []string{"RBAC"}, value(args, "authorization-mode"))
	require.Equal(t, []string{"2", "3"}, value(args, "v"))
	require.Equal(t, "authorization-mode", args[len(args)-3].Name)
}

// TestRoles: what a kubelet registers with. A control plane's role it has from the hook, and a worker's kubelet may not write its own down
// as it is.
func TestRoles(t *testing.T) {
	t.Parallel()
	p := parse(t, debian+"  network: {cni: none}\n  controlPlane: {machines: {labels: {node-role.kubernetes.io/control-plane: ''}}}\n"+
		"  workers: {machines: {labels: {node-role.kubernetes.io/worker: '', zone: a}}}\n"+
		"  pools: [{name: disks, labels: {node-role.kubernetes.io/disk: ssd}}]\n", "  - {name: w-1, role: worker, addresses: [10.0.0.21]}\n")
	require.True(t, p.Roles)
	for name, want := range map[string]struct{ labels, roles []string }{
		"cp-1":  {},
		"w-1":   {[]string{"role.kiln.dev/worker=,zone=a"}, []string{"worker="}},
		"disks": {[]string{"role.kiln.dev/disk=ssd,role.kiln.dev/worker=,zone=a"}, []string{"disk=ssd", "worker="}},
	} {
		i := slices.IndexFunc(p.Machines, func(m plan.Machine) bool { return m.Name == name })
		require.Equal(t, want.labels, value(p.KubeletFlags(&p.Machines[i]), "node-labels"), name)
		require.Equal(t, want.roles, p.Machines[i].Roles(), name)
	}
	require.False(t, parse(t, debian+"  controlPlane: {machines: {labels: {node-role.kubernetes.io/control-plane: ''}}}\n", "").Roles)
}

// TestRoutes: numbered machines fold into one line, and every machine gets the routes of all others and not its own.
func TestRoutes(t *testing.T) {
	t.Parallel()
	var nodes strings.Builder
	for i := range 40 {
		fmt.Fprintf(&nodes, "  - {name: w-%02d, role: worker, addresses: [10.0.0.%d]}\n", i, 21+i)
	}
	nodes.WriteString("  - {name: far, role: worker, addresses: [10.0.0.200], podCIDRs: [10.244.7.0/24]}\n")
	p := parse(t, debian, nodes.String())
	routes := p.Routes()
	require.Len(t, routes, 3)
	for i := range p.Machines {
		m := &p.Machines[i]
		got := map[netip.Prefix]netip.Addr{}
		for _, r := range plan.Others(routes, m) {
			pods, via := r.Pods, r.Via
			for range r.Count {
				got[pods] = via
				pods = netip.PrefixFrom(after(pods), pods.Bits())
				via = via.Next()
			}
		}
		want := map[netip.Prefix]netip.Addr{}
		for j := range p.Machines {
			if j != i {
				want[p.Machines[j].PodCIDRs[0]] = p.Machines[j].Addresses[0]
			}
		}
		require.Equal(t, want, got, m.Name)
	}
}

// after returns the first address behind a /24.
func after(p netip.Prefix) netip.Addr {
	a := p.Addr()
	for range 256 {
		a = a.Next()
	}
	return a
}

// TestReleases: every known minor has its row, an unknown patch release uses it, and another minor does not get this far.
func TestReleases(t *testing.T) {
	t.Parallel()
	for version, etcd := range map[string]string{"v1.34.99": "3.6.5-0", "v1.35.0": "3.6.6-0", "v1.36.3": "3.6.8-0", "v1.37.12": "3.7.0-0"} {
		text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n  kubernetesVersion: " + version +
			"\n  machines: {os: debian}\n  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n"
		c, err := config.Parse("cluster.yaml", []byte(text), nil)
		require.NoError(t, err)
		p := plan.New(c)
		require.Equal(t, "registry.k8s.io/etcd:"+etcd, p.Images[plan.Etcd])
		require.Equal(t, "registry.k8s.io/kube-apiserver:"+version, p.Images[plan.APIServer])
	}
}

// TestIdentity: what the user told of a machine's hardware is spelt as the machine spells it.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, mac := range []string{"52:54:00:AB:CD:EF", "52-54-00-ab-cd-ef", "5254.00AB.cdef", "525400abcdef"} {
		p := parse(t, debian, "  - {name: w-1, role: worker, addresses: [10.0.0.21], mac: '"+mac+"', productUUID: 4C4C4544-0042-3510-8054-B7C04F4E3232}\n")
		for _, m := range p.Machines {
			if m.Name == "w-1" {
				require.Equal(t, "52:54:00:ab:cd:ef", m.MAC)
				require.Equal(t, "4c4c4544-0042-3510-8054-b7c04f4e3232", m.ProductUUID)
			}
		}
	}
}

// TestInterfacesReachTheMachine: a node may have interfaces wherever the platform's medium has room for them.
func TestInterfacesReachTheMachine(t *testing.T) {
	t.Parallel()
	for _, platform := range target.Platforms {
		if platform.NetworkConfig {
			parse(t, debian, "  - {name: w-1, role: worker, addresses: [10.0.0.21], platform: "+platform.Name+", interfaces: [{mac: 5254.0012.3456, dhcp4: true}]}\n")
		}
	}
}

// TestNameSources: whom the configuration lets ask its platform for a name, that platform can be asked.
func TestNameSources(t *testing.T) {
	t.Parallel()
	for _, platform := range target.Platforms {
		text := "  network: {cni: none}\n  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n  pools:\n  - {name: blue, nodeName: metadata, platform: " + platform.Name + "}\n"
		c, err := config.Parse("cluster.yaml", []byte("apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n  kubernetesVersion: v1.36.3\n"+debian+text), nil)
		if platform.NameSource == nil {
			require.ErrorContains(t, err, "nodeName: metadata is for the platforms ", platform.Name)
			continue
		}
		require.NoError(t, err)
		p := plan.New(c)
		require.NotEmpty(t, p.Machines[1].NameSource.URL)
	}
}

// TestEtcdMembers: who carries a member, and where the API servers find them.
func TestEtcdMembers(t *testing.T) {
	t.Parallel()
	const (
		external = "  controlPlane: {etcd: {external: {endpoints: ['https://etcd.example.com:2379'], caFrom: a, certFrom: a, keyFrom: b}}}\n"
		own      = "  - {name: etcd-1, role: etcd, addresses: [10.0.0.31]}\n"
		second   = "  - {name: cp-2, role: control-plane, addresses: [10.0.0.12]}\n"
	)
	for name, row := range map[string]struct {
		spec, nodes string
		members     []string
		servers     string
	}{
		"on control planes": {"", "", []string{"cp-1"}, "https://127.0.0.1:2379"},
		"on machines of their own": {"  endpoint: api.example.com\n", second + own + "  - {name: etcd-2, role: etcd, addresses: [10.0.0.32]}\n  - {name: etcd-3, role: etcd, addresses: [10.0.0.33]}\n",
			[]string{"etcd-1", "etcd-2", "etcd-3"}, "https://10.0.0.31:2379,https://10.0.0.32:2379,https://10.0.0.33:2379"},
		"one":      {"  workers: {localBalancer: {}}\n", own, []string{"etcd-1"}, "https://10.0.0.31:2379"},
		"external": {external, "", nil, "https://etcd.example.com:2379"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n  kubernetesVersion: v1.36.3\n" + debian + row.spec +
				"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n" + row.nodes
			c, err := config.Parse("cluster.yaml", []byte(text), fstest.MapFS{
				"a": {Data: []byte("-----BEGIN CERTIFICATE-----\n")}, "b": {Data: []byte("-----BEGIN PRIVATE KEY-----\n")},
			})
			require.NoError(t, err)
			p := plan.New(c)
			var members []string
			for _, i := range p.EtcdMembers {
				members = append(members, p.Machines[i].Name)
			}
			require.Equal(t, row.members, members)
			for i := range p.Machines {
				m := &p.Machines[i]
				require.Equal(t, slices.Contains(row.members, m.Name), m.EtcdMember, m.Name)
				require.Equal(t, m.Role != node.Etcd, m.Joins(), m.Name)
				if !m.ControlPlane() {
					require.False(t, p.Balanced(m), m.Name)
					require.Empty(t, m.PodCIDRs, m.Name)
					require.Empty(t, p.APIURL(m), m.Name)
					continue
				}
				require.Contains(t, p.APIServerFlags(m).Args(), config.Arg{Name: "etcd-servers", Value: row.servers})
			}
		})
	}
}
