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

	EndpointHost string // where everything outside the control plane finds the API server
	EndpointPort int
	VIP          netip.Addr // that kube-vip carries on the control planes; not valid if there is none
	BalancerPort int        // of each worker's own balancer; 0 if they have none

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

// New returns the plan of c, which config.Parse has found valid. It fails only on what Parse cannot have let through.
func New(c *config.Cluster) (*Plan, error) {
	spec := &c.Spec
	rel, ok := target.ReleaseOf(minorOf(spec.KubernetesVersion))
	if !ok {
		return nil, fmt.Errorf("kubernetes %s is not in the table of known releases", spec.KubernetesVersion)
	}
	var err error
	p := &Plan{
		Config:        c,
		Name:          c.Metadata.Name,
		Version:       spec.KubernetesVersion,
		Release:       rel,
		DNSDomain:     spec.Network.DNSDomain,
		OnlineSigning: spec.Certificates.Signing == "online",
	}
	p.imageSteps = []map[string]string{
		images(target.KubernetesRegistry, p.Version, rel, nil), images(spec.ImageRepository, p.Version, rel, nil), images(spec.ImageRepository, p.Version, rel, spec.Images),
	}
	p.Images = p.imageSteps[len(p.imageSteps)-1]
	if p.PodSubnets, err = prefixes(spec.Network.PodSubnets); err != nil {
		return nil, fmt.Errorf("pod subnets: %w", err)
	}
	if p.ServiceSubnets, err = prefixes(spec.Network.ServiceSubnets); err != nil {
		return nil, fmt.Errorf("service subnets: %w", err)
	}
	for _, s := range p.ServiceSubnets {
		p.ServiceIPs = append(p.ServiceIPs, nth(s, 1))
	}
	p.DNSAddress = nth(p.ServiceSubnets[0], 10)
	p.NodeMasks = spec.Network.NodeMaskSizes

	for i := range spec.Nodes {
		m, err := named(c, i)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", spec.Nodes[i].Name, err)
		}
		p.Machines = append(p.Machines, m)
	}
	for i := range spec.Pools {
		m, err := pool(c, i)
		if err != nil {
			return nil, fmt.Errorf("pool %s: %w", spec.Pools[i].Name, err)
		}
		p.Machines = append(p.Machines, m)
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
		m.EtcdMember = m.Role == carriers && spec.ControlPlane.Etcd.External == nil
		if m.ControlPlane() {
			p.ControlPlanes = append(p.ControlPlanes, i)
		}
		if m.EtcdMember {
			p.EtcdMembers = append(p.EtcdMembers, i)
		}
	}
	if len(p.ControlPlanes) == 0 {
		return nil, fmt.Errorf("no control plane")
	}
	if p.EndpointHost, p.EndpointPort, err = config.SplitEndpoint(spec.Endpoint); err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if vip := spec.ControlPlane.VIP; vip != nil {
		if p.VIP, err = netip.ParseAddr(vip.Address); err != nil {
			return nil, fmt.Errorf("vip: %w", err)
		}
	}
	if balancer := spec.Workers.LocalBalancer; balancer != nil {
		p.BalancerPort = balancer.Port
	}
	if p.direct, err = p.inside(); err != nil {
		return nil, err
	}
	return p, nil
}

func named(c *config.Cluster, i int) (Machine, error) {
	n := &c.Spec.Nodes[i]
	m := machine(n.Name, n.Role, c.EffectiveNode(i))
	m.Path = fmt.Sprintf("nodes[%d]", i)
	m.Patches = n.Patches
	m.MAC, m.ProductUUID = config.PlainMAC(n.MAC), strings.ToLower(n.ProductUUID)
	m.Token = m.Joins() && m.Settings.Identity == "token"
	var err error
	if m.Addresses, err = addrs(n.Addresses); err != nil {
		return Machine{}, err
	}
	if m.Interfaces, err = interfaces(n.Interfaces); err != nil {
		return Machine{}, err
	}
	if c.Spec.Network.CNI == "routed" {
		if m.PodCIDRs, err = c.PodCIDRs(i); err != nil {
			return Machine{}, err
		}
	}
	m.KubeletMinor = minorOf(cmp.Or(m.Settings.KubeletVersion, c.Spec.KubernetesVersion))
	return m, nil
}

func pool(c *config.Cluster, i int) (m Machine, err error) {
	n := &c.Spec.Pools[i]
	m = machine(n.Name, node.Worker, c.EffectivePool(i))
	m.Path = fmt.Sprintf("pools[%d]", i)
	m.Patches = n.Patches
	m.Pool, m.Token, m.TokenLifetime = true, true, n.TokenLifetime
	if n.NodeName == "metadata" {
		m.NameSource = m.Platform.NameSource
	}
	if m.NodeAddress, err = nodeAddress(c, &n.NodeAddress); err != nil {
		return Machine{}, err
	}
	m.KubeletMinor = minorOf(cmp.Or(m.Settings.KubeletVersion, c.Spec.KubernetesVersion))
	return m, nil
}

// nodeAddress is where a pool's machines have their Nodes' addresses, in the order of the cluster's families.
func nodeAddress(c *config.Cluster, a *config.NodeAddress) ([]string, error) {
	families, err := prefixes(c.Spec.Network.PodSubnets)
	if err != nil {
		return nil, err
	}
	networks, err := prefixes(a.Networks)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range families {
		words := []string{map[bool]string{true: "-4", false: "-6"}[f.Addr().Is4()]}
		if a.Interface != "" {
			words = append(words, "dev", a.Interface)
		}
		for _, p := range networks {
			if p.Addr().Is4() == f.Addr().Is4() {
				words = append(words, "to", p.String())
			}
		}
		out = append(out, strings.Join(words, ","))
	}
	return out, nil
}

func machine(name, role string, settings config.Effective) Machine {
	system, _ := target.SystemNamed(settings.OS)
	platform, _ := target.PlatformNamed(settings.Platform)
	return Machine{Name: name, Role: role, Settings: settings, System: system, Platform: platform}
}

// minorOf returns 36 for v1.36.3, and 0 for what is no version.
func minorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return minor
}

func prefixes(texts []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		p, err := netip.ParsePrefix(t)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
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
