package addons

import (
	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/kube/kinds"
)

// Check returns a problem for each object of an add-on that kiln or another add-on writes
// too, and one if there are too many objects. own are the objects of kiln.
func Check(c *config.Cluster, own []manifests.Object, all []*Addon) (
	problems config.Problems,
) {
	by := map[string]string{manifests.MarkerPath: "kiln"} // the path in the API
	for _, o := range own {
		by[o.Path] = "kiln"
	}
	count := 0
	for _, a := range all {
		for i, o := range a.Objects {
			switch maker := by[o.Path]; maker {
			case "":
				by[o.Path] = a.path
			case "kiln":
				problems = append(problems, a.problem(c, i, "metadata.name",
					"%s is an object of kiln, too; change that one with a patch, or turn its "+
						"part off: write network.cni: none, network.proxy: none or "+
						"dns.provider: none", describe(o)))
			default:
				problems = append(problems, a.problem(c, i, "metadata.name",
					"%s stands in %s already; remove one", describe(o), maker))
			}
			if count++; count == patches.MaxObjects+1 {
				problems = append(problems, a.problem(c, i, "metadata.name",
					"the add-ons have more than %d objects; the first boot applies each by "+
						"itself, so apply some of them with kubectl, once the cluster runs",
					patches.MaxObjects))
			}
		}
	}
	return problems
}

// WithoutNamespace returns the first object of each namespace that no object before it makes, nor
// the API server by itself: the first boot would wait for the namespace in vain. The objects are in
// the order in which they are applied.
func WithoutNamespace(objects []manifests.Object) (homeless []manifests.Object) {
	known := map[string]bool{"": true, "default": true, "kube-node-lease": true,
		"kube-public": true, "kube-system": true}
	for _, o := range objects {
		if o.Kind == "Namespace" {
			known[o.Name] = true
		}
		if !known[o.Namespace] {
			known[o.Namespace] = true // its other objects need no words of their own
			homeless = append(homeless, o)
		}
	}
	return homeless
}

// describe returns an object's kind, name and namespace.
func describe(o manifests.Object) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Name + " in namespace " + o.Namespace
}

// Unusable returns the objects of add-ons for which kustomize fails: what is wrong with the fields
// of any or, if that is not known, those that kustomize cannot read alone.
func Unusable(c *config.Cluster, minor int, all []*Addon) (problems config.Problems) {
	checker := kinds.New(minor)
	for _, a := range all {
		for i, o := range a.Objects {
			for _, finding := range checker.Check(o.YAML) {
				problems = append(problems, a.problem(c, i, finding.Path, "%s %s: %s",
					o.Kind, o.Name, finding))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	for _, a := range all {
		for i, o := range a.Objects {
			if _, err := patches.Apply(o.YAML); err != nil {
				problems = append(problems, a.problem(c, i, "", "%s: kustomize cannot read it; "+
					"compare its fields with an example of its kind", describe(o)))
			}
		}
	}
	return problems
}
