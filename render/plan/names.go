package plan

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
)

// Names are the subject alternative names of a certificate: DNS names and addresses, each list
// sorted and without repetition.
type Names struct {
	DNS []string
	IPs []netip.Addr
}

// APIServerNames returns the names by which any client may reach an API server, the same for all
// control planes: no client that follows a moving address is refused.
func (p *Plan) APIServerNames() Names {
	var n Names
	n.add(config.ServiceNames(p.DNSDomain)...)
	n.add("localhost", p.EndpointHost)
	n.add(p.Config.Spec.ControlPlane.APIServer.CertSANs...)
	if p.VIP.IsValid() {
		n.IPs = append(n.IPs, p.VIP)
	}
	for _, i := range p.ControlPlanes {
		m := &p.Machines[i]
		n.add(m.Name)
		n.IPs = append(n.IPs, m.Addresses...)
	}
	n.IPs = append(n.IPs, p.ServiceIPs...)
	n.IPs = append(n.IPs, loopback4, loopback6)
	return n.sorted()
}

// EtcdNames returns the names of the etcd member on m.
func (m *Machine) EtcdNames() Names {
	n := Names{DNS: []string{m.Name, "localhost"}, IPs: []netip.Addr{loopback4, loopback6}}
	n.IPs = append(n.IPs, m.Addresses...)
	return n.sorted()
}

// KubeletNames returns the names of m's kubelet.
func (m *Machine) KubeletNames() Names {
	n := Names{DNS: []string{m.Name}, IPs: slices.Clone(m.Addresses)}
	return n.sorted()
}

func (n *Names) add(names ...string) {
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			n.IPs = append(n.IPs, ip)
		} else {
			n.DNS = append(n.DNS, strings.ToLower(name))
		}
	}
}

func (n Names) sorted() Names {
	slices.Sort(n.DNS)
	slices.SortFunc(n.IPs, netip.Addr.Compare)
	return Names{DNS: slices.Compact(n.DNS), IPs: slices.Compact(n.IPs)}
}

// NodeNames returns the names of all Nodes, none if those of pools are not known.
func (p *Plan) NodeNames() (names []string) {
	for i := range p.Machines {
		if m := &p.Machines[i]; m.Pool {
			return nil
		} else if m.Joins() {
			names = append(names, m.Name)
		}
	}
	return names
}

// AdminFile is the operator's kubeconfig in the output folder. It is on no machine.
const AdminFile = "admin.conf"

// Kind is what the configuration calls the machine: "pool" for the machines of a pool, else "node".
func (m *Machine) Kind() string {
	if m.Pool {
		return "pool"
	}
	return "node"
}

// NodeName is the name of the machine's Node, empty for a pool.
func (m *Machine) NodeName() string {
	if m.Pool {
		return ""
	}
	return m.Name
}

// Folder is the machine's folder below the output folder and in the review twin.
func (m *Machine) Folder() string { return Folder(m.Name, m.Pool) }

// Folder is the folder of a named machine, or of a pool.
func Folder(name string, pool bool) string {
	if pool {
		return path.Join("pools", name)
	}
	return name
}

// AddressStrings returns the machine's addresses, those of the main family first.
func (m *Machine) AddressStrings() []string {
	out := make([]string, len(m.Addresses))
	for i, a := range m.Addresses {
		out[i] = a.String()
	}
	return out
}

// Announces reports whether m announces the state of its first boot to a server.
func (m *Machine) Announces() bool { return m.Settings.Report.URL != "" }

// AnnouncePath returns where below the configured URL a machine, or all of a pool, announces.
func AnnouncePath(name string, pool bool) string {
	if pool {
		return "/announce/pools/" + name
	}
	return "/announce/" + name
}

// AnnounceURL returns that URL.
func (m *Machine) AnnounceURL() string {
	return m.Settings.Report.URL + AnnouncePath(m.Name, m.Pool)
}

// AnnounceTrust returns the path of the CA that m trusts there; empty for those of its system.
func (m *Machine) AnnounceTrust() string {
	switch r := &m.Settings.Report; {
	case r.CA == "cluster" && m.Joins():
		return CACert
	case r.CA == "cluster" || r.CAFrom != "":
		return AnnounceCA
	}
	return ""
}
