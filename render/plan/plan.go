// Package plan turns a valid configuration into every derived fact of the cluster, computed once: versions and images,
// addresses, names in certificates, etcd members, command lines. Strings end here: what comes out is typed, and
// nothing downstream checks again what the configuration has settled. Kubernetes' releases, operating systems and
// platforms differ through tables in this package alone.
package plan

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/target"
)

// Ports of the control plane.
const (
	APIServerPort     = 6443
	EtcdClientPort    = 2379
	EtcdPeerPort      = 2380
	EtcdMetricsPort   = 2381
	KubeletPort       = 10250
	ManagerPort       = 10257
	SchedulerPort     = 10259
	KubeletHealthPort = 10248
)

// Plan is every derived fact of a cluster.
type Plan struct {
	Config *config.Cluster

	Name    string
	Version string // Kubernetes' version, such as v1.36.3
	Release target.Release
	Images  map[string]string // image reference by component

	EndpointHost   string // where everything outside the control plane finds the API server
	EndpointPort   int
	EndpointIsName bool       // the host is a name, not an address
	VIP            netip.Addr // that kube-vip carries on the control planes; not valid if there is none
	BalancerPort   int        // of each worker's own balancer; 0 if they have none

	PodSubnets     []netip.Prefix
	ServiceSubnets []netip.Prefix
	NodeMasks      []int        // prefix length of one machine's part of each pod subnet
	ServiceIPs     []netip.Addr // of the Service "kubernetes", one in each family
	DNSAddress     netip.Addr   // of the Service "kube-dns"
	DNSDomain      string

	Machines      []Machine // nodes by name, then pools by name
	ControlPlanes []int     // indices into Machines, by name
	EtcdMembers   []int     // likewise, of the machines that carry a member of etcd; none if somebody else runs etcd

	direct     []string            // what is reached without a proxy
	imageSteps []map[string]string // Images with the defaults alone, from another repository, and with single ones replaced

	OnlineSigning bool // the cluster's CA key is on the control planes
	Tokens        bool // some machines join with a bootstrap token
	Roles         bool // some workers have roles
}

// Machine is one named machine, or one pool.
type Machine struct {
	Name     string
	Role     string // node.ControlPlane, node.Worker or node.Etcd
	Pool     bool   // machines not known by name share the document
	Path     string // of its entry in the configuration: nodes[2]
	Settings config.Effective
	Patches  []config.Patch // of its own entry

	System   target.System
	Platform target.Platform

	Addresses []netip.Addr   // main family first; none for a pool
	PodCIDRs  []netip.Prefix // with cni routed

	Interfaces []Interface // in the configuration's order; none where the platform configures them

	MAC         string // of one of its interfaces, as the kernel writes it; empty if the configuration does not say
	ProductUUID string // of its firmware, in lower case, likewise

	EtcdMember    bool // carries a member of etcd
	KubeletMinor  int
	Token         bool            // joins with a bootstrap token
	TokenLifetime config.Duration // of a pool's token

	NameSource  *target.NameSource // of a pool's machines; nil where they have the host's name
	NodeAddress []string           // of a pool's machines, for each family: -4 or -6, and behind commas what ip address show takes
}

// ControlPlane says that the machine runs the control plane.
func (m *Machine) ControlPlane() bool { return m.Role == node.ControlPlane }

// Worker says that the machine is a Node without a control plane.
func (m *Machine) Worker() bool { return m.Role == node.Worker }

// Joins says that the machine is a Node of the cluster. An etcd machine is none: its kubelet, without an API server, keeps the
// member running and knows of nothing else.
func (m *Machine) Joins() bool { return m.Role != node.Etcd }

// Roles are the roles, name=value and sorted, that a worker's Node is to have beside being one: what follows node-role.kubernetes.io/ in
// its labels.
func (m *Machine) Roles() (roles []string) {
	for key, value := range m.Settings.Labels {
		if role, ok := strings.CutPrefix(key, config.RoleLabel); ok && m.Worker() {
			roles = append(roles, role+"="+value)
		}
	}
	slices.Sort(roles)
	return roles
}

// New returns the plan of c, which config.Parse has returned.
func New(c *config.Cluster) *Plan {
	spec, values := &c.Spec, c.Values()
	release, _ := target.ReleaseOf(values.Minor) // Parse accepts the minors of that table alone
	p := &Plan{
		Config:         c,
		Name:           c.Metadata.Name,
		Version:        spec.KubernetesVersion,
		Release:        release,
		EndpointHost:   values.EndpointHost,
		EndpointPort:   values.EndpointPort,
		EndpointIsName: !values.EndpointAddress.IsValid(),
		VIP:            values.VIP,
		PodSubnets:     slices.Clone(values.PodSubnets),
		ServiceSubnets: slices.Clone(values.ServiceSubnets),
		NodeMasks:      spec.Network.NodeMaskSizes,
		DNSDomain:      spec.Network.DNSDomain,
		OnlineSigning:  spec.Certificates.Signing == "online",
	}
	p.imageSteps = []map[string]string{
		images(target.KubernetesRegistry, p.Version, release, nil),
		images(spec.ImageRepository, p.Version, release, nil),
		images(spec.ImageRepository, p.Version, release, spec.Images),
	}
	p.Images = p.imageSteps[len(p.imageSteps)-1]
	for _, s := range p.ServiceSubnets {
		p.ServiceIPs = append(p.ServiceIPs, nth(s, 1))
	}
	p.DNSAddress = nth(p.ServiceSubnets[0], 10)
	if balancer := spec.Workers.LocalBalancer; balancer != nil {
		p.BalancerPort = balancer.Port
	}
	p.addMachines()
	p.direct = p.inside()
	return p
}

// addMachines adds all nodes and pools, and what follows from all of them together.
func (p *Plan) addMachines() {
	c := p.Config
	for i := range c.Spec.Nodes {
		p.Machines = append(p.Machines, named(c, i))
	}
	for i := range c.Spec.Pools {
		p.Machines = append(p.Machines, pool(c, i))
	}
	slices.SortFunc(p.Machines, func(a, b Machine) int {
		if a.Pool != b.Pool {
			if b.Pool {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	carriers := node.ControlPlane
	if slices.ContainsFunc(p.Machines, func(m Machine) bool { return m.Role == node.Etcd }) {
		carriers = node.Etcd
	}
	for i := range p.Machines {
		m := &p.Machines[i]
		p.Tokens = p.Tokens || m.Token
		p.Roles = p.Roles || len(m.Roles()) > 0
		m.EtcdMember = m.Role == carriers && c.Spec.ControlPlane.Etcd.External == nil
		if m.ControlPlane() {
			p.ControlPlanes = append(p.ControlPlanes, i)
		}
		if m.EtcdMember {
			p.EtcdMembers = append(p.EtcdMembers, i)
		}
	}
}

// named returns the machine of the i-th node.
func named(c *config.Cluster, i int) Machine {
	n, values := &c.Spec.Nodes[i], &c.Values().Nodes[i]
	m := machine(c, n.Name, n.Role, c.EffectiveNode(i))
	m.Path = fmt.Sprintf("nodes[%d]", i)
	m.Patches = n.Patches
	m.MAC, m.ProductUUID = values.MAC, values.ProductUUID
	m.Token = m.Joins() && m.Settings.Identity == "token"
	m.Addresses = slices.Clone(values.Addresses)
	m.PodCIDRs = slices.Clone(values.PodCIDRs)
	m.Interfaces = interfaces(n.Interfaces, values.Interfaces)
	return m
}

// pool returns the machine that stands for those of the i-th pool.
func pool(c *config.Cluster, i int) Machine {
	n := &c.Spec.Pools[i]
	m := machine(c, n.Name, node.Worker, c.EffectivePool(i))
	m.Path = fmt.Sprintf("pools[%d]", i)
	m.Patches = n.Patches
	m.Pool, m.Token, m.TokenLifetime = true, true, n.TokenLifetime
	if n.NodeName == "metadata" {
		m.NameSource = m.Platform.NameSource
	}
	m.NodeAddress = nodeAddress(c.Values().PodSubnets, n.NodeAddress.Interface, c.Values().Pools[i].Networks)
	return m
}

// nodeAddress returns where a pool's machines have the addresses of their Nodes, one entry for each
// family of the pods.
func nodeAddress(pods []netip.Prefix, nic string, networks []netip.Prefix) (out []string) {
	for _, subnet := range pods {
		is4 := subnet.Addr().Is4()
		words := []string{map[bool]string{true: "-4", false: "-6"}[is4]}
		if nic != "" {
			words = append(words, "dev", nic)
		}
		for _, p := range networks {
			if p.Addr().Is4() == is4 {
				words = append(words, "to", p.String())
			}
		}
		out = append(out, strings.Join(words, ","))
	}
	return out
}

// machine returns a machine with what follows from its settings.
func machine(c *config.Cluster, name, role string, settings config.Effective) Machine {
	system, _ := target.SystemNamed(settings.OS)
	platform, _ := target.PlatformNamed(settings.Platform)
	return Machine{
		Name: name, Role: role, Settings: settings, System: system, Platform: platform,
		KubeletMinor: c.KubeletMinor(&settings),
	}
}

// nth returns the n-th address of p, counted from its network address.
func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Addr()
	for range n {
		a = a.Next()
	}
	return a
}

// EndpointURL is the API server's URL for everything outside the control plane.
func (p *Plan) EndpointURL() string { return url(p.EndpointHost, p.EndpointPort) }

// LocalURL is the URL of the API server on m, a control plane. Its kubelet, controller-manager and scheduler use it, so
// that none ever talks to an API server older than itself during an upgrade (KEP-4471).
func (m *Machine) LocalURL() string { return url(m.Addresses[0].String(), APIServerPort) }

// APIURL is where m's kubelet and hook find the API server: its own on a control plane, else its balancer or the endpoint. An etcd
// machine does not look for one.
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

func url(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// DualStack says that the cluster has both families.
func (p *Plan) DualStack() bool { return len(p.PodSubnets) == 2 }

// VerifiesKubelets says that every kubelet has, or asks for, a serving certificate of the cluster's CA, so that API servers can insist on it.
func (p *Plan) VerifiesKubelets() bool {
	return !p.Tokens || p.Config.Spec.Certificates.KubeletServing == "request"
}

// RequestsServing says that m's kubelet asks the cluster for its serving certificate.
func (p *Plan) RequestsServing(m *Machine) bool {
	return m.Token && p.Config.Spec.Certificates.KubeletServing == "request"
}

// Routed says that kiln connects the pods itself.
func (p *Plan) Routed() bool { return p.Config.Spec.Network.CNI == "routed" }
