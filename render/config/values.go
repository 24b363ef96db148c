package config

import (
	"net/netip"
	"strings"
)

// Values are what the strings of a Cluster stand for: addresses, networks, the version. Each string
// is read once, here; validate reports those that cannot be read, and the plan takes the rest.
//
// A string that cannot be read is a zero value. In a Cluster that Parse returned there is none:
// every address and network is valid, and every list is as long as its list of strings.
type Values struct {
	// Minor is the minor of kubernetesVersion: 36 for v1.36.3.
	Minor int
	// EndpointHost and EndpointPort are the parts of the endpoint; EndpointAddress is the host if
	// it is an address, and not valid if it is a name.
	EndpointHost    string
	EndpointPort    int
	EndpointAddress netip.Addr
	// VIP is the address that kube-vip carries; not valid without controlPlane.vip.
	VIP netip.Addr
	// Routers are the addresses of the peers of controlPlane.vip.bgp.
	Routers []netip.Addr
	// EtcdHosts are the hosts of the endpoints of an external etcd.
	EtcdHosts []string

	PodSubnets     []netip.Prefix
	ServiceSubnets []netip.Prefix

	Nodes []NodeValues // in the order of nodes
	// PoolNetworks are those of nodeAddress, in the order of pools.
	PoolNetworks [][]netip.Prefix
}

// NodeValues are what the strings of a node stand for.
type NodeValues struct {
	Addresses []netip.Addr
	// MAC is one of the machine's MAC addresses as the kernel writes it, 52:54:00:12:34:56; empty
	// if the configuration has none.
	MAC string
	// ProductUUID is the UUID of the machine's firmware in lower case, likewise.
	ProductUUID string
	Interfaces  []InterfaceValues // in the order of interfaces
}

// InterfaceValues are what the strings of an interface stand for.
type InterfaceValues struct {
	// Name is the interface's own name, or the name that systemd makes of its MAC address
	// (systemd.net-naming-scheme(7)).
	Name        string
	MAC         string         // as the kernel writes it; empty if the configuration has none
	Addresses   []netip.Prefix // each with the length of its network
	Gateways    []netip.Addr
	Routes      []RouteValues // in the order of routes
	Nameservers []netip.Addr
}

// RouteValues are what the strings of a route stand for.
type RouteValues struct {
	To  netip.Prefix
	Via netip.Addr
}

// Values returns what the strings of c stand for; nil if Parse did not make c. It is shared and
// must not be changed.
func (c *Cluster) Values() *Values { return c.values }

// KubeletMinor returns the minor of the kubelet on a machine with these settings: that of its
// kubeletVersion, or of kubernetesVersion if no layer sets one.
func (c *Cluster) KubeletMinor(settings *Effective) int {
	if settings.KubeletVersion == "" {
		return c.values.Minor
	}
	v, _ := parseVersion(settings.KubeletVersion)
	return v.minor
}

// readValues reads the strings of a Cluster whose defaults are set.
func readValues(c *Cluster) *Values {
	spec := &c.Spec
	version, _ := parseVersion(spec.KubernetesVersion)
	v := &Values{
		Minor:          version.minor,
		PodSubnets:     readAll(spec.Network.PodSubnets, readPrefix),
		ServiceSubnets: readAll(spec.Network.ServiceSubnets, readPrefix),
	}
	if host, port, err := splitEndpoint(spec.Endpoint); err == nil {
		v.EndpointHost, v.EndpointPort, v.EndpointAddress = host, port, readAddress(host)
	}
	if vip := spec.ControlPlane.VIP; vip != nil {
		v.VIP = readAddress(vip.Address)
		if vip.BGP != nil {
			v.Routers = readAll(vip.BGP.Peers,
				func(p BGPPeer) netip.Addr { return readAddress(p.Address) })
		}
	}
	if external := spec.ControlPlane.Etcd.External; external != nil {
		v.EtcdHosts = readAll(external.Endpoints, func(endpoint string) string {
			host, _, _ := splitEndpoint(strings.TrimPrefix(endpoint, "https://"))
			return host
		})
	}
	v.Nodes = make([]NodeValues, len(spec.Nodes))
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		v.Nodes[i] = NodeValues{
			Addresses:   readAll(n.Addresses, readAddress),
			MAC:         plainMAC(n.MAC),
			ProductUUID: strings.ToLower(n.ProductUUID),
			Interfaces:  readAll(n.Interfaces, readInterface),
		}
	}
	v.PoolNetworks = readAll(spec.Pools, func(p Pool) []netip.Prefix {
		return readAll(p.NodeAddress.Networks, readPrefix)
	})
	return v
}

func readInterface(n Interface) InterfaceValues {
	v := InterfaceValues{
		Name:        n.Name,
		MAC:         plainMAC(n.MAC),
		Addresses:   readAll(n.Addresses, readPrefix),
		Gateways:    readAll(n.Gateways, readAddress),
		Nameservers: readAll(n.Nameservers, readAddress),
	}
	if v.Name == "" {
		v.Name = "enx" + strings.ReplaceAll(v.MAC, ":", "")
	}
	v.Routes = readAll(n.Routes, func(r Route) RouteValues {
		return RouteValues{To: readPrefix(r.To), Via: readAddress(r.Via)}
	})
	return v
}

// readAll returns what read makes of every element of a list; nil of an empty list.
func readAll[From, To any](list []From, read func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	out := make([]To, len(list))
	for i, element := range list {
		out[i] = read(element)
	}
	return out
}

// readAddress returns the address that a string stands for; it is not valid if there is none.
func readAddress(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	return a
}

// readPrefix returns the network, or address with a prefix length, that a string stands for; it is
// not valid if there is none.
func readPrefix(text string) netip.Prefix {
	p, _ := netip.ParsePrefix(text)
	return p
}
