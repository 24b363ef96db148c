package check

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/render/plan"
)

// checkEndpoint: what leads to the API servers does. Which ports it opens is the business of ports, which credential it shows that
// of trust.
func (c *inspection) checkEndpoint() {
	if p := c.component(plan.KubeVIP); p != nil && c.cluster.Plan.HasVIP(c.machine) {
		c.checkVIP(p)
	}
	if p := c.component(plan.HAProxy); p != nil && c.cluster.Plan.Balanced(c.machine) {
		c.checkBalancer(p)
	}
	if c.cluster.Plan.VIP.IsValid() {
		c.requireAPIServer("controlPlane.vip", "https://"+net.JoinHostPort(c.cluster.Plan.VIP.String(), "6443"))
	}
}

// kubeVIPConf is where kube-vip looks for its kubeconfig.
const kubeVIPConf = plan.AdminConf

// checkVIP: kube-vip carries the endpoint's address, asks this machine's API server who may, and is nobody but itself there.
func (c *inspection) checkVIP(p *program) {
	by := p.String() + ": "
	if carried := p.env("address"); carried != c.cluster.Plan.VIP.String() {
		c.fail("%scarries %q, want %s; remove the patch that changes it", by, carried, c.cluster.Plan.VIP)
	}
	server := p.env("kubernetes_addr")
	c.requireAPIServer(by+"kubernetes_addr", server)
	if _, host, _ := splitURL(server); !c.isOwnAddress(host) {
		c.fail("%skubernetes_addr is %q, another machine's API server or one behind the address that is to be carried; remove the patch that changes it", by, server)
	} else if api := c.component(plan.APIServer); api != nil {
		c.requireDial(by+"kubernetes_addr", api, server)
	}
	for _, port := range p.Ports {
		if at := net.JoinHostPort(port.HostIP, portString(port.ContainerPort)); at != p.env("prometheus_server") {
			c.fail("%ssays that it listens at %s, and prometheus_server is %q; remove the patch that changes it", by, at, p.env("prometheus_server"))
		}
	}
	conf := p.locate(kubeVIPConf)
	if c.kubeconfigs[conf.path] == nil {
		c.fail("%s%s is no kubeconfig of this machine; remove the patch that changes its volume", by, kubeVIPConf)
		return
	}
	c.requireUsable(p, "kubeconfig", kubeVIPConf)
	c.requireIdentity(reference{by + "kubeconfig", conf.path}, plan.KubeVIP, "")
}

// isOwnAddress says whether a host is this machine's, by an address.
func (c *inspection) isOwnAddress(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || slices.Contains(c.machine.Addresses, a))
}

// checkBalancer: it listens where its pod says, passes on to every control plane, and its pod is that of this configuration.
func (c *inspection) checkBalancer(p *program) {
	path := p.locate(p.flag("f")).path
	f := c.file(path)
	if f == nil {
		c.fail("%s: -f names no configuration of this machine; remove the patch that changes it", p)
		return
	}
	if said := p.pod.Annotations["kiln.dev/config-sha256"]; said != manifests.BalancerSum(f.Content) {
		c.fail("%s: the annotation kiln.dev/config-sha256 is not the sum of %s, so that a change would not restart it; remove the patch that changes it", p, path)
	}
	var binds, servers []string
	for line := range strings.Lines(string(f.Content)) {
		switch words := strings.Fields(line); {
		case len(words) > 1 && words[0] == "bind":
			binds = append(binds, words[1])
		case len(words) > 2 && words[0] == "server":
			servers = append(servers, words[1]+"="+words[2])
		}
	}
	for _, port := range p.Ports {
		if at := net.JoinHostPort(port.HostIP, portString(port.ContainerPort)); !slices.Contains(binds, at) {
			c.fail("%s: says that it listens at %s, and %s does not say so; remove the patch that changes it", p, at, path)
		}
	}
	var want []string
	for _, i := range c.cluster.Plan.ControlPlanes {
		m := &c.cluster.Plan.Machines[i]
		want = append(want, m.Name+"="+strings.TrimPrefix(m.LocalURL(), "https://"))
	}
	if !slices.Equal(servers, want) {
		c.fail("file %s: passes on to %q, want %q; this is a mistake of kiln's", path, servers, want)
	}
	c.requireUsable(p, "f", plan.CACert)
}

// checkVIPRights: a binding in kube-system gives kube-vip the Lease of its election.
func (f *facts) checkVIPRights() {
	if !f.cluster.Plan.VIP.IsValid() {
		return
	}
	for _, o := range f.cluster.Objects {
		var b rbacv1.RoleBinding
		if o.Kind != "RoleBinding" || o.Namespace != "kube-system" || yaml.Unmarshal(o.YAML, &b) != nil || b.RoleRef.Name != plan.KubeVIP {
			continue
		}
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.UserKind && s.Name == plan.KubeVIP }) {
			return
		}
	}
	f.fail("objects: no RoleBinding in kube-system gives User %s the Role %s, so that nobody carries the endpoint's address; remove the patch that takes it away", plan.KubeVIP, plan.KubeVIP)
}
