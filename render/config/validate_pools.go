package config

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// pools checks the pools, each by itself and against each other.
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
		v.patches(p.Patches, at.Key("patches"))
		v.machine(&p.Machine, roleWorker, at)
	}
}

// platformNames checks that the platform of a pool has names, if its machines take their names
// from there.
func (v *checker) platformNames(m settings, nodeName string) {
	named := target.PlatformNames(func(p *target.Platform) bool { return p.NameSource != nil })
	if nodeName == "metadata" && !slices.Contains(named, m.Platform) {
		v.report(m.at.Key("nodeName"), "metadata is for the platforms %s, and %s has %s; "+
			"write hostname, or correct the platform",
			strings.Join(named, ", "), m.name, m.Platform)
	}
}

// nodeAddress checks which address of its machines the i-th pool gives to their Nodes.
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
