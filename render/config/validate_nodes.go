package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// reservedNames have another meaning in the output folder or the review twin, where every machine
// has a folder of its name; kiln serve and kiln netboot have files there.
var reservedNames = []string{"pools", "shared", "admin.conf", "inventory.json", "served.json",
	"served.json.announced", "netboot.json", "boot.ipxe"}

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

// ServiceNames returns the names of the API server's Service, which its certificate has.
func ServiceNames(domain string) []string {
	const service = "kubernetes.default.svc"
	return []string{"kubernetes", "kubernetes.default", service, service + "." + domain}
}

// dashed puts dashes between the parts of an address.
var dashed = strings.NewReplacer(".", "-", ":", "-")

// addresses checks the addresses of the i-th node. owners maps those before to their nodes.
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

// address checks one address of the i-th node, text in the file.
func (v *checker) address(
	i int, text string, a netip.Addr, owners map[netip.Addr]int, at *yamltext.Location,
) (ok bool) {
	if !v.machineAddress(text, a, at) {
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

// hardware checks what identifies the i-th node. owners maps what identifies those before.
func (v *checker) hardware(i int, owners map[string]int) {
	n, values, here := &v.c.Spec.Nodes[i], &v.values.Nodes[i], v.spec.Key("nodes").Index(i)
	for _, id := range []struct{ key, text, value, problem string }{
		{"mac", n.MAC, values.MAC, macProblem(values.MAC)},
		{"productUUID", n.ProductUUID, values.ProductUUID, uuidProblem(values.ProductUUID)},
	} {
		at := here.Key(id.key)
		if id.text == "" {
			continue
		}
		if id.problem != "" {
			v.report(at, "%s %s", quote(id.text), id.problem)
			continue
		}
		if first, ok := owners[id.value]; ok {
			v.reportTaken(quote(id.text), first, id.key, at)
			continue
		}
		owners[id.value] = i
	}
}

func (v *checker) pools() {
	if len(v.c.Spec.Pools) == 0 {
		return
	}
	if v.c.Spec.Certificates.Signing == "offline" {
		v.report(v.spec.Key("pools"), "pools need certificates.signing online: their machines "+
			"ask the cluster for certificates")
	}
	seen := map[string]int{}
	for i := range v.c.Spec.Pools {
		p, at := &v.c.Spec.Pools[i], v.spec.Key("pools").Index(i)
		v.label(p.Name, at.Key("name"))
		if first, ok := seen[p.Name]; ok && p.Name != "" {
			v.report(at.Key("name"), "%s is already the name of pools[%d]; choose another",
				quote(p.Name), first)
		} else {
			seen[p.Name] = i
		}
		v.span(p.TokenLifetime, at.Key("tokenLifetime"))
		if _, ok := p.Kubelet["providerID"]; ok {
			v.report(at.Key("kubelet").Key("providerID"), "is the ID of one instance, and each "+
				"machine of the pool would have it; remove it")
		}
		v.nodeAddress(i, at.Key("nodeAddress"))
	}
}

// platformNames checks that a platform has names for the machines of a pool that ask it for theirs.
func (v *checker) platformNames(m settings, nodeName string) {
	named := target.PlatformNames(func(p *target.Platform) bool { return p.NameSource != nil })
	if nodeName == "metadata" && !slices.Contains(named, m.Platform) {
		v.report(m.at.Key("nodeName"), "metadata is for the platforms %s, and %s has %s; "+
			"write hostname, or correct the platform",
			strings.Join(named, ", "), m.name, m.Platform)
	}
}

func (v *checker) nodeAddress(i int, at *yamltext.Location) {
	a := &v.c.Spec.Pools[i].NodeAddress
	switch name := a.Interface; {
	case name == "":
	case !interfaceName.MatchString(name):
		v.report(at.Key("interface"), "%s is not a network interface; write its name, such as eth1",
			quote(name))
	case v.c.podInterface(name) != "":
		v.report(at.Key("interface"), "%s is the name of an interface of pods; "+
			"write that of the machine's own", quote(name))
	}
	seen := map[bool]int{}
	for j, p := range v.values.PoolNetworks[i] {
		here := at.Key("networks").Index(j)
		switch {
		case !p.IsValid():
			v.report(here, "%s is not a network; write it like 10.8.0.0/16", quote(a.Networks[j]))
			continue
		case p.Masked() != p:
			v.report(here, "%s has bits set behind the prefix; write %s", p, p.Masked())
			continue
		}
		is4 := p.Addr().Is4()
		if first, ok := seen[is4]; ok {
			v.report(here, "%s is a second %s network (networks[%d] is the first); "+
				"a Node has one address of each family", p, family(is4), first)
		} else {
			seen[is4] = j
		}
		if !v.fits(is4) {
			v.report(here, "%s is %s, and the cluster is %s; remove it",
				p, family(is4), families(v.pods))
		}
		for _, s := range slices.Concat(v.pods, v.services) {
			if s.IsValid() && s.Overlaps(p) {
				v.report(here, "%s overlaps %s, a network of pods or Services; "+
					"write the network of the machines", p, s)
			}
		}
		if p.Addr().IsLoopback() {
			v.report(here, "%s has the addresses of each machine's own loopback; write the "+
				"network of the machines", p)
		}
	}
}
