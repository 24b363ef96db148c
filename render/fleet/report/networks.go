package report

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// network is a range of addresses with those in it that are known before.
type network struct {
	Title, Range, Note string
	Parts              []part
}

// part is an address in a network, and whose it is.
type part struct{ Address, Who, ID string }

// networksOf returns the networks of a cluster: those of its machines, its pods and its services.
func networksOf(c *change.Cluster) (out []network) {
	out = append(out, machineNetworks(c)...)
	for _, subnet := range prefixes(c.Properties.Value("pod subnets")) {
		out = append(out, podNetwork(c, subnet))
	}
	for _, subnet := range prefixes(c.Properties.Value("service subnets")) {
		out = append(out, serviceNetwork(c, subnet))
	}
	return out
}

// prefixes reads a list of ranges; what is none is left out.
func prefixes(list string) (out []netip.Prefix) {
	for text := range strings.SplitSeq(list, ",") {
		if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

// Lengths of the prefixes by which machines' addresses are put together. A state does not say how
// large the networks of the machines are.
const (
	machines4 = 24
	machines6 = 64
)

// machineNetworks returns the addresses of the machines, and of the endpoint if it is an address.
func machineNetworks(c *change.Cluster) (out []network) {
	add := func(address, who, id string) {
		a, err := netip.ParseAddr(strings.TrimSpace(address))
		if err != nil {
			return
		}
		bits := machines4
		if a.Is6() {
			bits = machines6
		}
		around, _ := a.Prefix(bits)
		i := slices.IndexFunc(out, func(n network) bool { return n.Range == around.String() })
		if i < 0 {
			i = len(out)
			out = append(out, network{Title: "Machines", Range: around.String()})
		}
		out[i].Parts = append(out[i].Parts, part{Address: a.String(), Who: who, ID: id})
	}
	host := strings.TrimPrefix(c.Properties.Value("endpoint"), "https://")
	if endpoint, err := netip.ParseAddrPort(host); err == nil {
		add(endpoint.Addr().String(), "endpoint", "")
	}
	for _, m := range c.Machines {
		for address := range strings.SplitSeq(m.Properties.Value("addresses"), ",") {
			add(address, m.Name, anchor(m))
		}
	}
	slices.SortStableFunc(out, func(a, b network) int { return comparePrefix(a.Range, b.Range) })
	for i := range out {
		n := &out[i]
		slices.SortStableFunc(n.Parts, func(a, b part) int {
			x, _ := netip.ParseAddr(a.Address)
			y, _ := netip.ParseAddr(b.Address)
			return x.Compare(y)
		})
		n.Note = "put together by their first bits: kiln does not know how large your network is"
	}
	return out
}

// podNetwork returns a pod subnet.
func podNetwork(c *change.Cluster, subnet netip.Prefix) network {
	n := network{Title: "Pods", Range: subnet.String(),
		Note: "machines get a part each when they join"}
	if c.Properties.Value("pod network") == "none" {
		n.Note = "the network that you bring divides it"
	}
	return n
}

// serviceNetwork returns a service subnet with the addresses that are known before.
func serviceNetwork(c *change.Cluster, subnet netip.Prefix) network {
	n := network{Title: "Services", Range: subnet.String()}
	if subnet == prefixes(c.Properties.Value("service subnets"))[0] {
		// The API server takes the first address of the first subnet for itself.
		n.Parts = append(n.Parts,
			part{Address: subnet.Addr().Next().String(), Who: "kubernetes, the API server"})
	}
	for _, address := range clusterDNS(c) {
		if a, err := netip.ParseAddr(address); err == nil && subnet.Contains(a) {
			n.Parts = append(n.Parts, part{Address: a.String(), Who: "DNS"})
		}
	}
	n.Note = "virtual addresses; the API server gives out the others"
	return n
}

// clusterDNS returns the addresses of DNS that the first kubelet gives to pods.
func clusterDNS(c *change.Cluster) []string {
	for _, m := range c.Machines {
		entry := m.Entries.Find(change.Key{Kind: "file", ID: plan.KubeletConfig})
		var kubelet struct {
			ClusterDNS []string `json:"clusterDNS"`
		}
		if entry != nil && yaml.Unmarshal(entry.Content, &kubelet) == nil {
			return kubelet.ClusterDNS
		}
	}
	return nil
}

func comparePrefix(a, b string) int {
	x, _ := netip.ParsePrefix(a)
	y, _ := netip.ParsePrefix(b)
	return cmp.Or(x.Compare(y), strings.Compare(a, b))
}
