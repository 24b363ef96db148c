// Package plan turns a valid configuration into every derived fact of one cluster, computed once:
// versions and images, addresses, the names in certificates, etcd members, command lines. Its
// results are typed, and nothing downstream checks again what the configuration has settled. What
// holds for every cluster, such as the table of operating systems, stands in package target.
package plan

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
)

// Plan is every derived fact of a cluster.
type Plan struct {
	Config *config.Cluster

	Name    string
	Version string // of Kubernetes, such as v1.36.3
	Release target.Release
	Images  map[string]string // image references by component

	EndpointHost   string // where everything outside the control plane finds the API server
	EndpointPort   int
	EndpointIsName bool       // the host is a name, not an address
	VIP            netip.Addr // that kube-vip carries on the control planes; not valid without one
	BalancerPort   int        // of each worker's own balancer; 0 without balancers

	PodSubnets     []netip.Prefix
	ServiceSubnets []netip.Prefix
	NodeMasks      []int        // prefix length of one machine's part of each pod subnet
	ServiceIPs     []netip.Addr // of the Service "kubernetes", one in each family
	DNSAddress     netip.Addr   // of the Service "kube-dns"
	DNSDomain      string

	Machines      []Machine // nodes by name, then pools by name
	ControlPlanes []int     // indices into Machines, by name
	EtcdMembers   []int     // likewise of the members of etcd; empty with an external etcd

	direct     []string            // what is reached without a proxy
	imageSteps []map[string]string // Images after each of their sources: see ImageSteps

	OnlineSigning bool // the cluster's CA key is on the control planes
	Pools         bool // there are pools, whose machines join with bootstrap tokens
	Roles         bool // some workers have roles
}

// Machine is one named machine, or one pool.
type Machine struct {
	Name string
	Role string // node.ControlPlane, node.Worker or node.Etcd
	// Pool reports whether the document is for several machines, which are not known by name. They
	// join with a bootstrap token, and make their own keys.
	Pool     bool
	Path     string // of its entry in the configuration: nodes[2]
	Settings *config.Effective
	Patches  []config.Patch // of its own entry

	System   *target.System
	Platform *target.Platform

	Artifacts []target.Artifact // what the machine fetches, in this order; none if its image has it

	Addresses []netip.Addr // main family first; none for a pool

	Interfaces []Interface // in the configuration's order; none where the platform configures them

	MAC         string // of one interface, as the kernel writes it; empty if not configured
	ProductUUID string // of its firmware, in lower case; empty if not configured

	EtcdMember     bool   // carries a member of etcd
	KubeletVersion string // that its image has to have
	KubeletMinor   int
	TokenLifetime  config.Duration // of a pool's token

	// NameSource is how a pool's machines ask the platform for their names; nil where they have the
	// host's name.
	NameSource *target.NameSource
	// NodeAddress says for each family where a pool's machines have their address: the arguments of
	// ip that show it, with commas between them.
	NodeAddress []string
}

// ControlPlane reports whether the machine runs the control plane.
func (m *Machine) ControlPlane() bool { return m.Role == node.ControlPlane }

// Worker reports whether the machine is a Node without a control plane.
func (m *Machine) Worker() bool { return m.Role == node.Worker }

// Joins reports whether the machine is a Node of the cluster, as an etcd machine is not.
func (m *Machine) Joins() bool { return m.Role != node.Etcd }

// Roles returns the further roles of a worker's Node from its labels, as name=value and sorted.
func (m *Machine) Roles() (roles []string) {
	for key, value := range m.Settings.Labels {
		if role, ok := strings.CutPrefix(key, config.RoleLabel); ok && m.Worker() {
			roles = append(roles, role+"="+value)
		}
	}
	slices.Sort(roles)
	return roles
}

// HasVIP reports whether kube-vip runs on m.
func (p *Plan) HasVIP(m *Machine) bool { return p.VIP.IsValid() && m.ControlPlane() }

// Balanced reports whether m has a balancer of its own before the API servers.
func (p *Plan) Balanced(m *Machine) bool { return p.BalancerPort != 0 && m.Worker() }

// StaticPods reports whether kiln writes static pods for m.
func (p *Plan) StaticPods(m *Machine) bool {
	return m.ControlPlane() || m.EtcdMember || p.Balanced(m)
}

// ReadsPods reports whether the kubelet on m starts pods from files: kiln's, or those of the user.
func (p *Plan) ReadsPods(m *Machine) bool {
	isPod := func(f config.File) bool { return path.Dir(f.Path) == ManifestsDir }
	return p.StaticPods(m) || slices.ContainsFunc(m.Settings.Files, isPod) ||
		strings.Contains(m.Settings.Butane, ManifestsDir+"/")
}

// DualStack reports whether the cluster has both families.
func (p *Plan) DualStack() bool { return len(p.PodSubnets) == 2 }

// Flannel reports whether Flannel connects the pods.
func (p *Plan) Flannel() bool { return p.Config.Spec.Network.CNI == "flannel" }

// VerifiesKubelets reports whether every kubelet has, or asks for, a serving certificate of the
// cluster's CA, so that API servers can require one.
func (p *Plan) VerifiesKubelets() bool {
	return !p.Pools || p.Config.Spec.Certificates.KubeletServing == "request"
}

// RequestsServing reports whether m's kubelet asks the cluster for its serving certificate.
func (p *Plan) RequestsServing(m *Machine) bool {
	return m.Pool && p.Config.Spec.Certificates.KubeletServing == "request"
}

// Hardened reports whether the cluster has the profile cis.
func (p *Plan) Hardened() bool { return p.Config.Spec.Security.Hardened() }

// AdmissionControl reports whether the API server has settings for its admission plugins.
func (p *Plan) AdmissionControl() bool {
	return p.Hardened() || p.Config.Spec.Security.PodSecurity.Enforce != "privileged"
}
