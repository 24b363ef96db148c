package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
)

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
	p.Images = pinnedImages(c, p.imageSteps[len(p.imageSteps)-1])
	p.imageSteps = append(p.imageSteps, p.Images)
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

func (p *Plan) addMachines() {
	c := p.Config
	p.Machines = make([]Machine, 0, len(c.Spec.Nodes)+len(c.Spec.Pools))
	alike := likes{}
	for i := range c.Spec.Nodes {
		p.Machines = append(p.Machines, alike.named(c, i))
	}
	for i := range c.Spec.Pools {
		p.Machines = append(p.Machines, alike.pool(c, i))
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
		p.Pools = p.Pools || m.Pool
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

func (l likes) named(c *config.Cluster, i int) Machine {
	n, values := &c.Spec.Nodes[i], &c.Values().Nodes[i]
	m := l.machine(c, n.Name, n.Role, c.EffectiveNode(i))
	m.Path = fmt.Sprintf("nodes[%d]", i)
	m.Patches = n.Patches
	m.MAC, m.ProductUUID = values.MAC, values.ProductUUID
	m.Addresses = slices.Clone(values.Addresses)
	m.Interfaces = interfaces(n.Interfaces, values.Interfaces)
	return m
}

func (l likes) pool(c *config.Cluster, i int) Machine {
	n := &c.Spec.Pools[i]
	m := l.machine(c, n.Name, node.Worker, c.EffectivePool(i))
	m.Path = fmt.Sprintf("pools[%d]", i)
	m.Patches = n.Patches
	m.Pool, m.TokenLifetime = true, n.TokenLifetime
	if n.NodeName == "metadata" {
		m.NameSource = m.Platform.NameSource
	}
	values := c.Values()
	m.NodeAddress = nodeAddress(
		values.PodSubnets, n.NodeAddress.Interface, values.PoolNetworks[i])
	return m
}

// nodeAddress returns where a pool's Nodes have their addresses, for each family of the pods.
func nodeAddress(pods []netip.Prefix, nic string, networks []netip.Prefix) (out []string) {
	for _, subnet := range pods {
		is4 := subnet.Addr().Is4()
		// These networks are for documentation: nothing is sent there.
		option, route, selected := "-4", ",route,get,192.0.2.1", ""
		if !is4 {
			option, route = "-6", ",route,get,2001:db8::1"
		}
		if nic != "" {
			selected = ",dev," + nic
		}
		for _, p := range networks {
			if p.Addr().Is4() == is4 {
				selected += ",to," + p.String()
			}
		}
		if selected != "" {
			route = ",address,show,scope,global" + selected
		}
		out = append(out, option+route)
	}
	return out
}

// likes holds what follows from the settings of machines, which many share.
type likes map[*config.Effective]Machine

// machine returns a machine with what follows from its settings.
func (l likes) machine(c *config.Cluster, name, role string, settings *config.Effective) Machine {
	m, ok := l[settings]
	if !ok {
		system, _ := settings.System() // Parse accepts the systems of the table alone
		platform, _ := target.PlatformNamed(settings.Platform)
		m = Machine{Settings: settings, System: &system, Platform: &platform,
			KubeletVersion: c.KubeletVersion(&settings.Machine),
			KubeletMinor:   c.KubeletMinor(settings), Artifacts: mirroredArtifacts(c, settings)}
		l[settings] = m
	}
	m.Name, m.Role = name, role
	return m
}
