package assembly

import (
	"fmt"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/addons"
)

// checkObjects returns a problem for each object whose namespace nothing makes, whose pods the API
// server would refuse, or with which the pods' network cannot work.
func (r *Cluster) checkObjects() (problems config.Problems) {
	c := r.Plan.Config
	report := func(o manifests.Object, message string) {
		problems = append(problems, c.Problemf(r.ObjectField(o), "%s", message))
	}
	for _, o := range addons.WithoutNamespace(r.Objects) {
		report(o, fmt.Sprintf("%s %s: nothing makes its namespace %q; add an object of kind "+
			"Namespace, or remove the namespace if the kind has none", o.Kind, o.Name, o.Namespace))
	}
	refusals, err := Refusals(r.Objects, &c.Spec.Security.PodSecurity)
	if err != nil {
		problems = append(problems, c.Problemf("", "%s", err))
	}
	for _, refusal := range refusals {
		report(refusal.Object, refusal.Message)
	}
	for _, finding := range addons.CheckNetworks(r.Plan, r.Objects) {
		report(finding.Object, finding.Message)
	}
	return problems
}

// ObjectField returns the field of the configuration that brings an object: the entry of its
// add-on. What is wrong with an object of kiln comes from a patch, or from the add-ons beside it.
func (r *Cluster) ObjectField(o manifests.Object) string {
	if i, ok := r.addon[o.Path]; ok {
		return addons.Field(i)
	}
	if len(r.Plan.Config.Spec.Patches) > 0 {
		return "patches"
	}
	return "addons"
}
