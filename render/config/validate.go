package config

import "kiln.dev/kiln/render/kube/flags"

// validate runs all checks. Their order does not matter, because problems are sorted by line.
func validate(c *Cluster, r *reporter) {
	root, spec := locations()
	v := &checker{
		reporter: r, c: c, values: c.values, spec: spec,
		reported: map[string]bool{}, bash: map[string]bool{},
		kubeletFindings: map[string][]flags.Finding{},
	}
	for i := range c.Spec.Nodes {
		switch c.Spec.Nodes[i].Role {
		case roleControlPlane:
			v.controlPlanes = append(v.controlPlanes, i)
		case roleEtcd:
			v.etcdMachines = append(v.etcdMachines, i)
		}
	}

	v.label(c.Metadata.Name, root.Key("metadata").Key("name"))
	v.versions()
	v.images()
	v.network()
	v.endpoint()
	v.security()
	v.recipients()
	v.certificates()
	v.boot()
	v.dns()
	v.controlPlane()
	v.neededFlags()
	v.vip()
	v.localBalancer()
	v.addons()
	for _, layer := range c.written() {
		v.machine(layer.Machine, layer.role, layer.at)
		v.patches(layer.patches, layer.patchesAt)
	}
	v.nodes()
	v.pools()
	v.layers()
	v.flannel()
	v.domains()
	v.publicSubnets()
}

func (v *checker) certificates() {
	cert, at := &v.c.Spec.Certificates, v.spec.Key("certificates")
	v.window(cert.Lifetime, at.Key("lifetime"))
	v.span(cert.CALifetime, at.Key("caLifetime"))
	if cert.Lifetime >= shortestBoot && cert.Lifetime < aDay {
		v.warn(WarnLifetime, at.Key("lifetime"), "%s: no control plane renews its "+
			"certificates by itself, and the cluster ends with them; write 8760h", cert.Lifetime)
	}
	if cert.Lifetime > cert.CALifetime && cert.CALifetime > 0 {
		v.report(at.Key("lifetime"), "%s is longer than caLifetime (%s), "+
			"and a certificate does not outlive its CA; shorten it",
			cert.Lifetime, cert.CALifetime)
	}
	switch {
	case *cert.Stagger < 0:
		v.report(at.Key("stagger"), "%s is negative; write 0s or more", *cert.Stagger)
	case *cert.Stagger >= cert.Lifetime && cert.Lifetime > 0:
		v.report(at.Key("stagger"), "%s is not shorter than lifetime (%s); "+
			"the first certificates would never be valid. Shorten it", *cert.Stagger, cert.Lifetime)
	}
}

func (v *checker) boot() {
	boot, at := &v.c.Spec.Boot, v.spec.Key("boot")
	v.window(boot.FormationWindow, at.Key("formationWindow"))
	v.span(boot.StepTimeout, at.Key("stepTimeout"))
	ca := v.c.Spec.Certificates.CALifetime
	if window := boot.FormationWindow; window > ca && ca > 0 {
		v.report(at.Key("formationWindow"), "%s is longer than certificates.caLifetime (%s); "+
			"shorten it", window, ca)
	}
}

func (v *checker) dns() {
	const most = 100
	if n := v.c.Spec.DNS.Replicas; n < 1 || n > most {
		v.report(v.spec.Key("dns").Key("replicas"), "%d is out of range; "+
			"write 1 to %d, or dns.provider: none for no DNS service", n, most)
	}
}
