package config

import (
	"net/netip"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation"

	"kiln/render/yamlpath"
)

// checker reports every value that the types allow and a cluster does not. It changes nothing.
type checker struct {
	*reporter
	c      *Cluster
	values *Values
	spec   *yamlpath.Location

	pods, services []netip.Prefix // those that could be read, else zero, by index
	version        version        // kubernetesVersion, zero if it could not be read
	controlPlanes  []int          // indices of the control planes within nodes
	etcdMachines   []int          // likewise of the machines with role etcd

	kubelets map[string]bool // whether fields fit KubeletConfiguration, by their JSON: many machines have the same
}

// validate runs all checks. Their order does not matter: problems are sorted by line.
func validate(c *Cluster, r *reporter) {
	root, spec := locations()
	v := &checker{reporter: r, c: c, values: c.values, spec: spec, kubelets: map[string]bool{}}
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
	v.machine(&c.Spec.ControlPlane.Machines, roleControlPlane, spec.Key("controlPlane").Key("machines"))
	v.machine(&c.Spec.ControlPlane.Etcd.Machines, roleEtcd, spec.Key("controlPlane").Key("etcd").Key("machines"))
	v.machine(&c.Spec.Workers.Machines, roleWorker, spec.Key("workers").Key("machines"))
	v.nodes()
	v.pools()
	v.layers()
}

// label checks an RFC 1123 label.
func (v *checker) label(name string, at *yamlpath.Location) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		v.report(at, "%s is not a valid name; write lower-case letters, digits and '-', at most 63, with a letter or digit at both ends", quote(name))
	}
}

// certificates checks the lifetimes.
func (v *checker) certificates() {
	cert, at := &v.c.Spec.Certificates, v.spec.Key("certificates")
	v.span(cert.Lifetime, at.Key("lifetime"))
	v.span(cert.CALifetime, at.Key("caLifetime"))
	if cert.Lifetime > cert.CALifetime && cert.CALifetime > 0 {
		v.report(at.Key("lifetime"), "%s is longer than caLifetime (%s), and a certificate does not outlive its CA; shorten it", cert.Lifetime, cert.CALifetime)
	}
	switch {
	case cert.Stagger < 0:
		v.report(at.Key("stagger"), "%s is negative; write 0s or more", cert.Stagger)
	case cert.Stagger >= cert.Lifetime && cert.Lifetime > 0:
		v.report(at.Key("stagger"), "%s is not shorter than lifetime (%s); the first certificates would never be valid. Shorten it", cert.Stagger, cert.Lifetime)
	}
	boot := v.spec.Key("boot")
	v.span(v.c.Spec.Boot.FormationWindow, boot.Key("formationWindow"))
	v.span(v.c.Spec.Boot.StepTimeout, boot.Key("stepTimeout"))
	if w := v.c.Spec.Boot.FormationWindow; w > cert.CALifetime && cert.CALifetime > 0 {
		v.report(boot.Key("formationWindow"), "%s is longer than certificates.caLifetime (%s); shorten it", w, cert.CALifetime)
	}
}

// dns checks the settings of the DNS service.
func (v *checker) dns() {
	const most = 100
	if n := v.c.Spec.DNS.Replicas; n < 1 || n > most {
		v.report(v.spec.Key("dns").Key("replicas"), "%d is out of range; write 1 to %d, or dns.provider: none for no DNS service", n, most)
	}
}

// patches checks that each patch has one text.
func (v *checker) patches(patches []Patch, at *yamlpath.Location) {
	for i, p := range patches {
		here := at.Index(i)
		if v.oneText(p.Patch, p.PatchFrom, "patch", "patchFrom", here) && p.Patch == "" && p.PatchFrom == "" {
			v.report(here.Key("patch"), "is empty; write a strategic merge or JSON6902 patch")
		}
		if p.Target != nil && *p.Target == (Target{}) && v.knownKeys(here.Key("target")) {
			v.report(here.Key("target"), "selects everything; name at least a kind, or remove it from a strategic merge patch that names its object")
		}
	}
}

// knownKeys says whether a target has no misspelt key: what it would select is then known.
func (v *checker) knownKeys(at *yamlpath.Location) bool {
	target, _ := yamlpath.Find(v.root, at)
	for i := 0; target != nil && i < len(target.Content); i += 2 {
		if structs[reflect.TypeFor[Target]()].byName[target.Content[i].Value] == nil {
			return false
		}
	}
	return true
}

// oneText checks that a text stands in exactly one of two fields. It returns whether it does.
func (v *checker) oneText(text, from, textKey, fromKey string, at *yamlpath.Location) bool {
	hasText := text != "" || v.has(at.Key(textKey))
	hasFrom := from != "" || v.has(at.Key(fromKey))
	switch {
	case hasText && hasFrom:
		v.report(at.Key(fromKey), "stands beside %s; write one of the two", textKey)
	case !hasText && !hasFrom:
		v.report(at, "is empty; write %s, or name a file with %s", textKey, fromKey)
	case !hasText && from == "":
		v.report(at.Key(fromKey), "is empty; name a file beside cluster.yaml")
	default:
		return true
	}
	return false
}

// has says whether the file has a value at a place.
func (v *checker) has(at *yamlpath.Location) bool {
	value, _ := yamlpath.Find(v.root, at)
	return value != nil
}

// addons checks that each add-on is named once. That it can be read is the loader's business.
func (v *checker) addons() {
	seen := map[string]int{}
	for i, a := range v.c.Spec.Addons {
		name := cleanPath(a.Path)
		if first, ok := seen[name]; ok {
			v.report(v.spec.Key("addons").Index(i).Key("path"), "%s is already addons[%d]; remove one", quote(a.Path), first)
			continue
		}
		seen[name] = i
	}
}
