package check

import (
	"net"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkEndpoint checks that kube-vip and the balancer lead to the API servers. checkPorts looks at
// the ports that they open, checkTrust at the credential that kube-vip shows.
func (c *inspection) checkEndpoint() {
	if p := c.component(target.KubeVIP); p != nil && c.cluster.Plan.HasVIP(c.machine) {
		c.checkVIP(p)
	}
	if p := c.component(target.HAProxy); p != nil && c.cluster.Plan.Balanced(c.machine) {
		c.checkBalancer(p)
	}
	if vip := c.cluster.Plan.VIP; vip.IsValid() {
		c.requireAPIServer("controlPlane.vip", "https://"+net.JoinHostPort(vip.String(), "6443"))
	}
}

// kubeVIPConf is where kube-vip looks for its kubeconfig.
const kubeVIPConf = plan.AdminConf

// checkVIP checks that kube-vip carries the endpoint's address, asks the API server of this machine
// who may carry it, and is known there by its own name alone.
func (c *inspection) checkVIP(p *machine.Program) {
	source := p.String() + ": "
	if address := p.Variable("address"); address != c.cluster.Plan.VIP.String() {
		c.fail("%scarries %q, want %s; remove the patch that changes it",
			source, address, c.cluster.Plan.VIP)
	}
	server := p.Variable("kubernetes_addr")
	c.requireAPIServer(source+"kubernetes_addr", server)
	if _, host, _ := machine.SplitURL(server); !c.isOwnAddress(host) {
		c.fail("%skubernetes_addr is %q, another machine's API server or one behind the address "+
			"that is to be carried; remove the patch that changes it", source, server)
	} else if api := c.component(target.APIServer); api != nil {
		c.requireDial(source+"kubernetes_addr", api, server)
	}
	for _, port := range p.Ports {
		declared := net.JoinHostPort(port.HostIP, machine.PortString(port.ContainerPort))
		if set := p.Variable("prometheus_server"); declared != set {
			c.fail("%ssays that it listens at %s, and prometheus_server is %q; "+
				"remove the patch that changes it", source, declared, set)
		}
	}
	at := p.Locate(kubeVIPConf)
	if c.kubeconfigs[at.Path] == nil {
		c.fail("%s%s is no kubeconfig of this machine; remove the patch that changes its volume",
			source, kubeVIPConf)
		return
	}
	c.requireUsable(p, "kubeconfig", kubeVIPConf)
	conf := machine.Reference{Source: source + "kubeconfig", Path: at.Path}
	c.requireIdentity(conf, target.KubeVIP, "")
}

// checkBalancer checks where the balancer listens, that it knows all control planes, and restarts.
func (c *inspection) checkBalancer(p *machine.Program) {
	path := p.Locate(p.Flag("f")).Path
	f := c.tree.File(path)
	if f == nil {
		c.fail("%s: -f names no configuration of this machine; remove the patch that changes it", p)
		return
	}
	sum := p.Pod.Annotations["kiln.dev/config-sha256"]
	if sum != manifests.BalancerSum(f.Content) {
		c.fail("%s: the annotation kiln.dev/config-sha256 is not the sum of %s, "+
			"so that a change would not restart it; remove the patch that changes it", p, path)
	}
	binds, servers := readBalancer(f.Content)
	for _, port := range p.Ports {
		declared := net.JoinHostPort(port.HostIP, machine.PortString(port.ContainerPort))
		if !slices.Contains(binds, declared) {
			c.fail("%s: says that it listens at %s, and %s has no such address; "+
				"remove the patch that changes it", p, declared, path)
		}
	}
	var want []string
	for _, i := range c.cluster.Plan.ControlPlanes {
		m := &c.cluster.Plan.Machines[i]
		want = append(want, m.Name+"="+strings.TrimPrefix(m.LocalURL(), "https://"))
	}
	if !slices.Equal(servers, want) {
		c.fail("file %s: passes on to %q, want %q; this is a mistake of kiln's",
			path, servers, want)
	}
	c.requireUsable(p, "f", plan.CACert)
}

// readBalancer returns where HAProxy listens, and its servers as name=address.
func readBalancer(conf []byte) (binds, servers []string) {
	for line := range strings.Lines(string(conf)) {
		switch words := strings.Fields(line); {
		case len(words) > 1 && words[0] == "bind":
			binds = append(binds, words[1])
		case len(words) > 2 && words[0] == "server":
			servers = append(servers, words[1]+"="+words[2])
		}
	}
	return binds, servers
}

// checkVIPRights checks that a RoleBinding lets kube-vip take the Lease of its election.
func (f *facts) checkVIPRights() {
	if !f.cluster.Plan.VIP.IsValid() {
		return
	}
	isKubeVIP := func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.UserKind && s.Name == target.KubeVIP
	}
	for _, o := range f.cluster.Objects {
		if o.Kind != "RoleBinding" || o.Namespace != "kube-system" {
			continue
		}
		var b rbacv1.RoleBinding
		if o.Decode(&b) != nil || b.RoleRef.Name != target.KubeVIP {
			continue
		}
		if slices.ContainsFunc(b.Subjects, isKubeVIP) {
			return
		}
	}
	f.fail("objects: no RoleBinding in kube-system gives User %s the Role %s, "+
		"so that nobody carries the endpoint's address; remove the patch that takes it away",
		target.KubeVIP, target.KubeVIP)
}
