package config

// validate runs all checks. Their order does not matter: problems are sorted by line.
func validate(c *Cluster, r *reporter) {
	root, spec := locations()
	v := &checker{reporter: r, c: c, values: c.values, spec: spec, kubelets: map[string]bool{}, reported: map[string]bool{}}
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
	v.certificates()
	v.dns()
	v.controlPlane()
	v.vip()
	v.localBalancer()
	v.patches(c.Spec.Patches, spec.Key("patches"))
	v.patches(c.Spec.Workers.Patches, spec.Key("workers").Key("patches"))
	v.addons()
	v.machine(&c.Spec.Machines, layerAll, spec.Key("machines"))
	v.machine(&c.Spec.ControlPlane.Machines, roleControlPlane,
		spec.Key("controlPlane").Key("machines"))
	v.machine(&c.Spec.ControlPlane.Etcd.Machines, roleEtcd,
		spec.Key("controlPlane").Key("etcd").Key("machines"))
	v.machine(&c.Spec.Workers.Machines, roleWorker, spec.Key("workers").Key("machines"))
	v.nodes()
	v.pools()
	v.layers()
}

// certificates checks the lifetimes.
func (v *checker) certificates() {
	cert, at := &v.c.Spec.Certificates, v.spec.Key("certificates")
	v.span(cert.Lifetime, at.Key("lifetime"))
	v.span(cert.CALifetime, at.Key("caLifetime"))
	if cert.Lifetime > cert.CALifetime && cert.CALifetime > 0 {
		v.report(at.Key("lifetime"), "%s is longer than caLifetime (%s), and a certificate does "+
			"not outlive its CA; shorten it", cert.Lifetime, cert.CALifetime)
	}
	switch {
	case cert.Stagger < 0:
		v.report(at.Key("stagger"), "%s is negative; write 0s or more", cert.Stagger)
	case cert.Stagger >= cert.Lifetime && cert.Lifetime > 0:
		v.report(at.Key("stagger"), "%s is not shorter than lifetime (%s); "+
			"the first certificates would never be valid. Shorten it", cert.Stagger, cert.Lifetime)
	}
	boot := v.spec.Key("boot")
	v.span(v.c.Spec.Boot.FormationWindow, boot.Key("formationWindow"))
	v.span(v.c.Spec.Boot.StepTimeout, boot.Key("stepTimeout"))
	if w := v.c.Spec.Boot.FormationWindow; w > cert.CALifetime && cert.CALifetime > 0 {
		v.report(boot.Key("formationWindow"), "%s is longer than certificates.caLifetime (%s); "+
			"shorten it", w, cert.CALifetime)
	}
}

// dns checks the settings of the DNS service.
func (v *checker) dns() {
	const most = 100
	if n := v.c.Spec.DNS.Replicas; n < 1 || n > most {
		v.report(v.spec.Key("dns").Key("replicas"), "%d is out of range; "+
			"write 1 to %d, or dns.provider: none for no DNS service", n, most)
	}
}
