package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
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

// Values returns what the strings of c stand for, shared; nil if Parse did not make c.
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

func readAddress(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	return a
}

// readPrefix returns the network that a string stands for, not valid if there is none.
func readPrefix(text string) netip.Prefix {
	p, _ := netip.ParsePrefix(text)
	return p
}

type version struct{ minor, patch int }

// noVersion is the version of a configuration whose version has a problem.
var noVersion version

var fullVersion = regexp.MustCompile(`^v1\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$`)

// parseVersion reads a version such as v1.36.3. problem is why the text is not one, "" if it is.
func parseVersion(text string) (v version, problem string) {
	m := fullVersion.FindStringSubmatch(text)
	if m == nil {
		if fullVersion.MatchString("v" + text) {
			return version{}, fmt.Sprintf("%s has no v in front; write v%s", quote(text), text)
		}
		return version{}, fmt.Sprintf("%s is not a full version; write it like v1.36.3",
			quote(text))
	}
	minor, _ := strconv.Atoi(m[1]) // the pattern allows at most four digits
	patch, _ := strconv.Atoi(m[2])
	return version{minor, patch}, ""
}

// cutPort cuts what may be meant as a port off an IPv6 address; port is "" if nothing there may.
func cutPort(address string) (host, port string) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return address, ""
	}
	n, err := strconv.Atoi(address[i+1:])
	if _, wrong := netip.ParseAddr(address[:i]); err != nil || wrong != nil || n < 443 {
		return address, ""
	}
	return address[:i], address[i+1:]
}

// splitEndpoint splits an endpoint into host and port. The host is a name, an IPv4 address, or an
// IPv6 address without brackets; the port is 6443 if there is none. The error comes for any other
// form. The name is not checked.
func splitEndpoint(endpoint string) (host string, port int, err error) {
	switch {
	case strings.Contains(endpoint, "://"):
		return "", 0, fmt.Errorf("has a scheme; write host or host:port alone")
	case strings.Contains(endpoint, "/"):
		return "", 0, fmt.Errorf("has a path; write host or host:port alone")
	case strings.Contains(endpoint, "@"):
		return "", 0, fmt.Errorf("has a user; write host or host:port alone")
	}
	if a, err := netip.ParseAddr(endpoint); err == nil {
		if host, port := cutPort(endpoint); port != "" {
			return "", 0, fmt.Errorf("may be the address %s with the port %s, or an address "+
				"alone; write [%s]:%s or [%s]", host, port, host, port, endpoint)
		}
		return a.String(), target.APIServerPort, nil
	}
	host, digits, hasPort := endpoint, "", false
	if rest, ok := strings.CutPrefix(endpoint, "["); ok {
		var after string
		if host, after, ok = strings.Cut(rest, "]"); !ok || after != "" && after[0] != ':' {
			return "", 0, fmt.Errorf("is not host:port; write an IPv6 address with port like " +
				"[fd00::1]:6443")
		}
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return "", 0, fmt.Errorf("has no IPv6 address in its brackets; " +
				"write it like [fd00::1]:6443")
		}
		digits, hasPort = strings.CutPrefix(after, ":")
	} else {
		host, digits, hasPort = strings.Cut(endpoint, ":")
	}
	if host == "" {
		return "", 0, fmt.Errorf("has no host; write host or host:port")
	}
	if !hasPort {
		return host, target.APIServerPort, nil
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 1 || port > 65535 || digits[0] == '+' || digits[0] == '0' {
		return "", 0, fmt.Errorf("has the port %s; write a number from 1 to 65535", quote(digits))
	}
	return host, port, nil
}

var bareMAC = regexp.MustCompile(`^[0-9A-Fa-f]{12}$`)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// plainMAC returns a MAC address as the kernel writes it, 52:54:00:12:34:56. People also write it
// in upper case, with dashes, in three parts with dots, or with nothing between its digits. It
// returns "" if the string is no MAC address.
func plainMAC(text string) string {
	if bareMAC.MatchString(text) {
		text = text[:4] + "." + text[4:8] + "." + text[8:]
	}
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return ""
	}
	return mac.String()
}

// macProblem takes a MAC address as plainMAC returns it.
func macProblem(mac string) string {
	switch {
	case mac == "":
		return "is not a MAC address; write it like 52:54:00:12:34:56"
	case strings.ContainsRune("13579bdf", rune(mac[1])):
		return "is a multicast address, which no interface has; " +
			"write one that ip link shows on the machine"
	case mac == "00:00:00:00:00:00":
		return "is not the address of an interface; write one that ip link shows on the machine"
	}
	return ""
}

func uuidProblem(text string) string {
	switch {
	case !uuid.MatchString(text):
		return "is not a UUID; write it as /sys/class/dmi/id/product_uuid shows it, " +
			"like 8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"
	case strings.Trim(text, "0-") == "" || strings.Trim(text, "f-") == "":
		return "is what a firmware without a UUID shows; remove it, or write mac instead"
	}
	return ""
}
