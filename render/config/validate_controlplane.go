package config

import (
	"net/netip"
	"strings"

	"kiln/render/yamlpath"
)

// maxMembers is etcd's advice for the size of a cluster: https://etcd.io/docs/v3.6/faq/ (maximum
// cluster size).
const maxMembers = 7

// controlPlane checks the settings of the control plane's programs.
func (v *checker) controlPlane() {
	cp, at := &v.c.Spec.ControlPlane, v.spec.Key("controlPlane")
	v.args(cp.APIServer.ExtraArgs, ownAPIServerFlags, at.Key("apiServer").Key("extraArgs"))
	v.args(cp.ControllerManager.ExtraArgs, ownControllerManagerFlags, at.Key("controllerManager").Key("extraArgs"))
	v.args(cp.Scheduler.ExtraArgs, ownSchedulerFlags, at.Key("scheduler").Key("extraArgs"))
	v.patches(cp.Patches, at.Key("patches"))
	v.certSANs(cp.APIServer.CertSANs, at.Key("apiServer").Key("certSANs"))
	v.etcd(&cp.Etcd, at.Key("etcd"))
}

// certSANs checks the further names of the API server's certificate.
func (v *checker) certSANs(list []string, at *yamlpath.Location) {
	seen := map[string]int{}
	for i, san := range list {
		here := at.Index(i)
		if first, ok := seen[san]; ok {
			v.report(here, "%s is already certSANs[%d]; remove one", quote(san), first)
			continue
		}
		seen[san] = i
		if a, err := netip.ParseAddr(san); err == nil {
			if a.Zone() != "" {
				v.report(here, "%s has a zone, which certificates cannot hold; remove it", quote(san))
			}
			continue
		}
		name := strings.TrimPrefix(san, "*.")
		problem := hostProblem(name)
		switch {
		case allDigits.MatchString(name):
			v.report(here, "%s is neither an IP address nor a DNS name; write it like 10.0.0.10 or api.example.com", quote(san))
		case problem != "":
			v.report(here, "%s %s", quote(san), problem)
		}
	}
}

// etcd checks the members on the control planes or on machines of their own, or the cluster that
// somebody else runs.
func (v *checker) etcd(e *Etcd, at *yamlpath.Location) {
	v.args(e.ExtraArgs, ownEtcdFlags, at.Key("extraArgs"))
	machines := at.Key("machines")
	v.withoutNode(&e.Machines, machines)
	if len(v.etcdMachines) == 0 && v.has(machines) {
		v.report(machines, "has no effect without a machine with role etcd; give nodes role: etcd, or remove it")
	}
	if e.External != nil {
		if len(v.etcdMachines) > 0 {
			v.report(at.Key("external"), "stands beside machines with role etcd, such as %s; remove it, or give them another role", v.c.Spec.Nodes[v.etcdMachines[0]].Name)
		}
		if len(e.ExtraArgs) > 0 {
			v.report(at.Key("extraArgs"), "has no effect with etcd.external; remove it")
		}
		if e.Backup != nil {
			v.report(at.Key("backup"), "has no effect with etcd.external; remove it, and back up that cluster where it runs")
		}
		v.externalEtcd(e.External, at.Key("external"))
		return
	}
	v.backup(e.Backup, at.Key("backup"))
	if n := len(v.etcdMachines); n > 0 {
		switch {
		case n > maxMembers:
			v.report(v.spec.Key("nodes"), "has %d machines with role etcd, which slow each other down; at most %d", n, maxMembers)
		case n%2 == 0 && !e.AllowEvenMembers:
			v.report(v.spec.Key("nodes"), "has %d machines with role etcd, which survive no more failures than %d; add or remove one, or set controlPlane.etcd.allowEvenMembers: true", n, n-1)
		}
		return
	}
	n := len(v.controlPlanes)
	switch {
	case n > maxMembers:
		v.report(v.spec.Key("nodes"), "has %d control planes, and so %d etcd members, which slow each other down; at most %d, or give etcd machines of its own (role: etcd)", n, n, maxMembers)
	case n > 0 && n%2 == 0 && !e.AllowEvenMembers:
		v.report(v.spec.Key("nodes"), "has %d control planes, and so %d etcd members, which survive no more failures than %d; add or remove one, or set controlPlane.etcd.allowEvenMembers: true", n, n, n-1)
	}
}

// withoutNode checks that a layer of etcd machines, which have no Node, sets nothing of a Node.
func (v *checker) withoutNode(m *Machine, at *yamlpath.Location) {
	const why = "has no effect on an etcd machine, which has no Node; remove it"
	if len(m.Labels) > 0 {
		v.report(at.Key("labels"), why)
	}
	if m.Taints != nil {
		v.report(at.Key("taints"), why)
	}
	for _, key := range []string{"enableServer", "registerNode"} {
		if _, ok := m.Kubelet[key]; ok {
			v.report(at.Key("kubelet").Key(key), "is set by kiln on an etcd machine; remove it (without an API server its kubelet serves nobody)")
		}
	}
	if m.Identity == "token" {
		v.report(at.Key("identity"), "an etcd machine's kubelet does not join the cluster; remove it")
	}
}

// externalEtcd checks the addresses and files of an etcd cluster that somebody else runs.
func (v *checker) externalEtcd(e *ExternalEtcd, at *yamlpath.Location) {
	seen := map[string]int{}
	if len(e.Endpoints) == 0 {
		v.report(at.Key("endpoints"), "is empty; write the members' client URLs, such as https://10.0.0.31:2379")
	}
	for i, endpoint := range e.Endpoints {
		here := at.Key("endpoints").Index(i)
		first, ok := seen[endpoint]
		problem := urlProblem(endpoint, "https")
		switch {
		case problem != "":
			v.report(here, "%s", problem)
		case !strings.HasPrefix(endpoint, "https://"):
			v.report(here, "%s has a scheme in upper case; write https://", quote(endpoint))
		case strings.Count(endpoint, "/") > 2:
			v.report(here, "%s has a path; end it with the port", quote(endpoint))
		case strings.Contains(endpoint, ","):
			v.report(here, "%s names several servers; write one URL for each entry", quote(endpoint))
		case ok:
			v.report(here, "%s is already endpoints[%d]; remove one", quote(endpoint), first)
		}
		seen[endpoint] = i
	}
	v.pem(e.CAFrom, "a certificate (BEGIN CERTIFICATE)", "CERTIFICATE-----", at.Key("caFrom"))
	v.pem(e.CertFrom, "a certificate (BEGIN CERTIFICATE)", "CERTIFICATE-----", at.Key("certFrom"))
	v.pem(e.KeyFrom, "a private key that is not encrypted (BEGIN PRIVATE KEY)", "PRIVATE KEY-----", at.Key("keyFrom"))
}
