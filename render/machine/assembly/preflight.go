package assembly

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/preflight"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/templates"
)

// checks returns the preflight checks of this machine, a line each, and the functions that they
// call.
func (t *tree) checks() (lines string, functions []string) {
	facts := t.preflight()
	facts.From, facts.Until = t.Public.Validity(t.Plan, t.m)
	facts.TokenEnd = t.Public.TokenEnd(t.m)
	var b strings.Builder
	for _, c := range preflight.Checks(facts) {
		functions = append(functions, templates.CheckFunctions(c.Call)...)
		b.WriteString(c.String())
	}
	slices.Sort(functions)
	return b.String(), slices.Compact(functions)
}

// preflight returns the facts that the checks of this machine are made from. The dates are missing,
// because they come from the machine's certificates.
func (t *tree) preflight() *preflight.Facts {
	f := &preflight.Facts{
		Plan: t.Plan, Machine: t.m,
		Modules: t.Plan.KernelModules(t.m), Sysctls: t.sysctls(),
		ResolvConf: t.resolvConf(), SwapAllowed: t.swapAllowed(),
		Images: t.images(), Mounts: mounted(t.m.Settings.CloudConfig),
	}
	if t.m.Joins() && t.Plan.Flannel() {
		for _, plugin := range []string{"bridge", "host-local", "loopback", "portmap"} {
			f.Plugins = append(f.Plugins, path.Join(t.m.Settings.CNIBinDir(), plugin))
		}
	}
	return f
}

// images returns the images of the machine's static pods and the pause image.
func (t *tree) images() []string {
	names := []string{target.Pause}
	if t.m.ControlPlane() {
		names = append(names, target.APIServer, target.ControllerManager, target.Scheduler)
	}
	if t.m.EtcdMember {
		names = append(names, target.Etcd)
	}
	if t.Plan.HasVIP(t.m) {
		names = append(names, target.KubeVIP)
	}
	if t.Plan.Balanced(t.m) {
		names = append(names, target.HAProxy)
	}
	images := make([]string, len(names))
	for i, name := range names {
		images[i] = t.Plan.Images[name]
	}
	return images
}

// knowsRegistries holds if the machine may know more of a registry than its servers: whom to trust
// there, and what to show. A public one needs neither. The image of the system may bring this for
// a registry of the user's own.
func (t *tree) knowsRegistries() bool {
	spec := &t.Plan.Config.Spec
	return spec.ImageRepository != target.KubernetesRegistry || len(spec.Images) > 0 ||
		slices.ContainsFunc(t.m.Settings.Files, func(f config.File) bool {
			return strings.HasPrefix(f.Path, plan.RegistriesDir+"/")
		}) ||
		slices.ContainsFunc(t.m.Settings.Registries,
			func(r config.Registry) bool { return r.CA+r.CAFrom+r.CertFrom+r.Username != "" })
}

// unknownChecks returns a problem for each name in ignorePreflight that is the name of no check on
// any machine to which the list applies.
func (r *Cluster) unknownChecks() (problems config.Problems) {
	byLayer := map[string][]*plan.Machine{} // by the layer that sets their list
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; len(m.Settings.IgnorePreflight) > 0 {
			layer := m.Settings.Source["ignorePreflight"]
			byLayer[layer] = append(byLayer[layer], m)
		}
	}
	for layer, machines := range byLayer {
		for i, name := range machines[0].Settings.IgnorePreflight {
			hasCheck := func(m *plan.Machine) bool { return preflight.Has(r.facts(m), name) }
			if preflight.Known(name) || slices.ContainsFunc(machines, hasCheck) {
				continue
			}
			advice := "docs/preflight.md lists them"
			near := wording.Nearest(name, preflight.Names(r.facts(machines[0])))
			if near != "" {
				advice = fmt.Sprintf("did you mean %q?", near)
			}
			problems = append(problems, r.Plan.Config.Problemf(element(layer+".ignorePreflight", i),
				"no check of %s has this name; %s", machines[0].Name, advice))
		}
	}
	slices.SortFunc(problems, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// facts returns what the checks of a machine are made from, but for the dates.
func (r *Cluster) facts(m *plan.Machine) *preflight.Facts {
	return (&tree{Cluster: r, m: m}).preflight()
}
