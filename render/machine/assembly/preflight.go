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
)

// checks returns the preflight checks of this machine, a line each, and their kinds.
func (t *tree) checks() (lines string, kinds []string) {
	facts := t.preflight()
	facts.From, facts.Until = t.Public.Validity(t.Plan, t.m)
	facts.TokenEnd = t.Public.TokenEnd(t.m)
	var b strings.Builder
	previous := ""
	for _, c := range preflight.Checks(facts) {
		kinds = append(kinds, c.Kind())
		// Ten ports share one remedy. Where a line has none, the hook uses that of the line before.
		if c.Remedy == previous {
			c.Remedy = ""
		} else {
			previous = c.Remedy
		}
		b.WriteString(c.String())
	}
	slices.Sort(kinds)
	return b.String(), slices.Compact(kinds)
}

// preflight returns the facts that the checks of this machine are made from. The dates are missing,
// because they come from the machine's certificates.
func (t *tree) preflight() *preflight.Facts {
	f := &preflight.Facts{
		Plan: t.Plan, Machine: t.m,
		Modules: t.Plan.KernelModules(t.m), Sysctls: t.sysctls(),
		ResolvConf: t.resolvConf(), SwapAllowed: t.swapAllowed(),
		Images: t.images(),
	}
	for _, peer := range t.etcdPeers() {
		f.Peers = append(f.Peers, preflight.Peer{Name: peer.Name, URL: peer.EtcdHTTPURL()})
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
			hasName := func(c preflight.Check) bool { return c.Is(name) }
			hasCheck := func(m *plan.Machine) bool {
				return slices.ContainsFunc(r.machineChecks(m), hasName)
			}
			if preflight.Known(name) || slices.ContainsFunc(machines, hasCheck) {
				continue
			}
			var names []string
			for _, c := range r.machineChecks(machines[0]) {
				names = append(names, c.Names()...)
			}
			advice := "docs/preflight.md lists them"
			if near := wording.Nearest(name, names); near != "" {
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

// machineChecks returns m's checks. The dates in them are not filled in.
func (r *Cluster) machineChecks(m *plan.Machine) []preflight.Check {
	return preflight.Checks((&tree{Cluster: r, m: m}).preflight())
}
