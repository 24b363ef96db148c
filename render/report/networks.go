package report

import (
	"cmp"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln/render/change"
	"kiln/render/plan"
	"kiln/render/plural"
)

// network is a range of addresses with the parts in it.
type network struct {
	Title, Range, Note string
	Parts              []part
	Strip              bool // the parts are drawn to scale
}

// part is a range or an address in a network, and whose it is.
type part struct {
	Range, Who, ID string
	Left, Width    int // in thousandths of the network
}

// networksOf returns the networks of a cluster: those of its machines, its pods and its services.
func networksOf(c *change.Cluster) (out []network) {
	out = append(out, machineNetworks(c)...)
	parts := podParts(c)
	for _, subnet := range prefixes(c.Properties.Value("pod subnets")) {
		out = append(out, podNetwork(c, subnet, parts))
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
		out[i].Parts = append(out[i].Parts, part{Range: a.String(), Who: who, ID: id})
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
			x, _ := netip.ParseAddr(a.Range)
			y, _ := netip.ParseAddr(b.Range)
			return x.Compare(y)
		})
		n.Note = "put together by their first bits: kiln does not know how large your network is"
	}
	return out
}

// podPart is a range of pods' addresses, and the machine or pool that has it.
type podPart struct {
	netip.Prefix
	who, id string
}

// podParts returns the ranges that machines have, and those from which the machines of a pool take
// theirs.
func podParts(c *change.Cluster) (out []podPart) {
	for _, m := range c.Machines {
		who, file := m.Name, plan.KilnDir+"/routes"
		if m.Pool {
			who, file = "pool "+m.Name, plan.KilnDir+"/parts"
		}
		entry := m.Entries.Find(change.Key{Kind: "file", ID: file})
		if entry == nil {
			continue
		}
		for text := range strings.Lines(string(entry.Content)) {
			first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
			if p, err := netip.ParsePrefix(first); err == nil {
				out = append(out, podPart{p.Masked(), who, anchor(m)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b podPart) int { return a.Prefix.Compare(b.Prefix) })
	return out
}

// podNetwork returns a pod subnet with the parts in it.
func podNetwork(c *change.Cluster, subnet netip.Prefix, parts []podPart) network {
	n := network{Title: "Pods", Range: subnet.String(), Strip: true}
	for _, p := range parts {
		if !subnet.Contains(p.Addr()) || p.Bits() < subnet.Bits() {
			continue
		}
		left, width := place1000(subnet, p.Prefix)
		n.Parts = append(n.Parts,
			part{Range: p.String(), Who: p.who, ID: p.id, Left: left, Width: width})
	}
	switch {
	case len(n.Parts) > 0:
		n.Note = fmt.Sprintf("%s of it given out", plural.Count(len(n.Parts), "part"))
	case c.Properties.Value("pod network") == "none":
		n.Strip, n.Note = false, "the network that you bring divides it"
	default:
		n.Strip, n.Note = false, "machines get a part each when they join"
	}
	return n
}

// place1000 returns where a range lies in a subnet, in thousandths of it.
func place1000(subnet, inside netip.Prefix) (left, width int) {
	number := func(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }
	offset := new(big.Int).Sub(number(inside.Addr()), number(subnet.Addr()))
	offset.Mul(offset, big.NewInt(1000))
	offset.Rsh(offset, uint(subnet.Addr().BitLen()-subnet.Bits()))
	const most = 10 // 2^10 is more than a thousand
	size := 1000 >> min(inside.Bits()-subnet.Bits(), most)
	return int(offset.Int64()), max(2, size)
}

// serviceNetwork returns a service subnet with the addresses that are known before.
func serviceNetwork(c *change.Cluster, subnet netip.Prefix) network {
	n := network{Title: "Services", Range: subnet.String()}
	if subnet == prefixes(c.Properties.Value("service subnets"))[0] {
		// The API server takes the first address of the first subnet for itself.
		n.Parts = append(n.Parts,
			part{Range: subnet.Addr().Next().String(), Who: "kubernetes, the API server"})
	}
	for _, address := range clusterDNS(c) {
		if a, err := netip.ParseAddr(address); err == nil && subnet.Contains(a) {
			n.Parts = append(n.Parts, part{Range: a.String(), Who: "DNS"})
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
