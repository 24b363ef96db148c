package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// reservedNames have another meaning in the output folder or the review twin, where every machine
// has a folder of its name; kiln serve and kiln netboot have files there.
var reservedNames = []string{"pools", "shared", "admin.conf", "inventory.json", "served.json",
	"served.json.announced", "netboot.json", "boot.ipxe"}

// nodes checks the machines known by name, each by itself and against each other.
func (v *checker) nodes() {
	nodes, list := v.c.Spec.Nodes, v.spec.Key("nodes")
	noRole := func(n Node) bool { return !slices.Contains(roles, n.Role) }
	if len(v.controlPlanes) == 0 && !slices.ContainsFunc(nodes, noRole) {
		v.report(list, "has no control plane; give at least one node role: control-plane")
	}
	names := make(map[string]int, len(nodes))
	owners := make(map[netip.Addr]int, len(nodes))
	hardware := map[string]int{}
	for i := range nodes {
		n, at := &nodes[i], list.Index(i)
		v.nodeName(n, at.Key("name"))
		if n.Name != "" {
			if first, ok := names[strings.ToLower(n.Name)]; ok {
				v.report(at.Key("name"), "%s is already the name of nodes[%d]%s; "+
					"names have to differ in lower case too",
					quote(n.Name), first, v.line(list.Index(first).Key("name")))
			} else {
				names[strings.ToLower(n.Name)] = i
			}
		}
		v.addresses(i, owners)
		v.hardware(i, hardware)
		v.patches(n.Patches, at.Key("patches"))
		v.machine(&n.Machine, n.Role, at)
		if n.Role == roleEtcd {
			v.withoutNode(&n.Machine, at)
		}
	}
	v.interfaces(owners, hardware)
}

// nodeName checks the name of a machine. It is the name of its host, its Node and its folder, and
// stands in the certificate of its kubelet.
func (v *checker) nodeName(n *Node, at *yamltext.Location) {
	name := n.Name
	_, err := netip.ParseAddr(name)
	switch {
	case err == nil || allDigits.MatchString(name):
		v.report(at, "%s is a number or an address, and no host has such a name; "+
			"begin with a letter, such as node-%s", quote(name), dashed.Replace(name))
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		v.report(at, "%s means every machine itself; choose another name", quote(name))
	case slices.Contains(ServiceNames(v.c.Spec.Network.DNSDomain), strings.ToLower(name)):
		v.report(at, "%s is a name by which pods call the API server, and this machine could "+
			"answer for it; choose another name", quote(name))
	case slices.Contains(reservedNames, name):
		v.report(at, "%s is taken in the output folder; choose another name", quote(name))
	case len(name) > 63:
		v.report(at, "has %d characters; Linux host names have at most 63", len(name))
	default:
		if problem := hostProblem(name); problem != "" {
			v.report(at, "%s %s", quote(name), problem)
		}
	}
}

// ServiceNames returns the names of the Service of the API server in a DNS domain. They stand in
// its certificate.
func ServiceNames(domain string) []string {
	const service = "kubernetes.default.svc"
	return []string{"kubernetes", "kubernetes.default", service, service + "." + domain}
}

// dashed puts dashes between the parts of an address.
var dashed = strings.NewReplacer(".", "-", ":", "-")

// addresses checks the addresses of the i-th node. owners maps the addresses of the nodes before it
// to their indices.
func (v *checker) addresses(i int, owners map[netip.Addr]int) {
	at := v.spec.Key("nodes").Index(i).Key("addresses")
	addresses := v.values.Nodes[i].Addresses
	ok := true
	for j, a := range addresses {
		ok = v.address(i, v.c.Spec.Nodes[i].Addresses[j], a, owners, at.Index(j)) && ok
	}
	if ok {
		v.addressFamilies(addresses, at)
	}
}

// address checks one address of the i-th node. The file has it as text. ok reports whether it can
// be used.
func (v *checker) address(
	i int, text string, a netip.Addr, owners map[netip.Addr]int, at *yamltext.Location,
) (ok bool) {
	problem := notAddress(text)
	if a.IsValid() {
		problem = addressProblem(a)
	}
	if problem != "" {
		v.report(at, "%s %s", quote(text), problem)
		return false
	}
	v.outside(a, at)
	first, taken := owners[a]
	switch {
	case !taken:
		owners[a] = i
		return true
	case first == i:
		v.report(at, "%s is listed twice; remove one", a)
	default:
		there := v.spec.Key("nodes").Index(first).Key("addresses")
		v.report(at, "%s is already an address of %s (nodes[%d])%s; every machine has its own",
			a, v.c.Spec.Nodes[first].Name, first, v.line(there))
	}
	return false
}

// addressFamilies checks that there is one address of each family of the cluster, in their order.
func (v *checker) addressFamilies(addresses []netip.Addr, at *yamltext.Location) {
	want := families(v.pods)
	if want == "" {
		return
	}
	names := make([]string, len(addresses))
	for j, a := range addresses {
		names[j] = family(a.Is4())
	}
	got := strings.Join(names, " and ")
	switch {
	case got == want:
		return
	case got == "":
		got = "none"
	case len(names) > 2:
		got = fmt.Sprintf("%d addresses", len(names))
	}
	v.report(at, "want one address of each family of podSubnets in their order (%s), got %s",
		want, got)
}
