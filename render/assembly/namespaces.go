package assembly

import (
	"kiln/manifests"
	"kiln/render/addons"
	"kiln/render/config"
)

// builtinNamespaces are the namespaces that the API server makes by itself.
var builtinNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// namespaces returns a problem for each namespace that an object uses and no object makes: the
// first boot would wait for it in vain. addon holds the index of an object's add-on by its path.
func (r *Cluster) namespaces(addon map[string]int) (problems config.Problems) {
	made := map[string]bool{}
	for _, name := range builtinNamespaces {
		made[name] = true
	}
	reported := map[string]bool{}
	for _, o := range r.Objects {
		if o.Kind == "Namespace" {
			made[o.Name] = true
		}
		if o.Namespace != "" && !made[o.Namespace] && !reported[o.Namespace] {
			reported[o.Namespace] = true
			problems = append(problems, r.Plan.Config.Problemf(addonPath(addon, o),
				"%s %s: nothing makes its namespace %q; "+
					"add an object of kind Namespace",
				o.Kind, o.Name, o.Namespace))
		}
	}
	return problems
}

// addonPath returns the field of the configuration that an object comes from: the entry of its
// add-on, which addon holds by the object's path, or the list of add-ons for an object of kiln.
func addonPath(addon map[string]int, o manifests.Object) string {
	if i, ok := addon[o.Path]; ok {
		return addons.Field(i)
	}
	return "addons"
}
