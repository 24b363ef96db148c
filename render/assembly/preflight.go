package assembly

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln/render/config"
	"kiln/render/plan"
	"kiln/render/preflight"
	"kiln/render/suggest"
)

// checks returns the preflight checks of this machine, a line each, and their kinds. It reports whether the
// kubelet may start only where pods are kept from the metadata service: that check is one that stops.
func (t *tree) checks() (lines string, kinds []string, walled bool) {
	facts := t.preflight()
	facts.From, facts.Until = t.Validity(t.m)
	facts.TokenEnd = t.TokenExpiry(t.m)
	var b strings.Builder
	before := ""
	for _, c := range preflight.Checks(facts) {
		kinds = append(kinds, c.Kind())
		walled = walled || c.Kind() == "walled" && c.Severity != preflight.Warn
		// Ten ports have one remedy; the hook takes that of the line before.
		if c.Remedy == before {
			c.Remedy = ""
		} else {
			before = c.Remedy
		}
		b.WriteString(c.String())
	}
	slices.Sort(kinds)
	return b.String(), slices.Compact(kinds), walled
}

// preflight is what the checks of this machine are made from, but for the dates: those take the time of its certificates.
func (t *tree) preflight() *preflight.Facts {
	f := &preflight.Facts{
		Plan: t.Plan, Machine: t.m,
		Modules: t.modules(), Sysctls: t.sysctls(), ResolvConf: t.resolvConf(), SwapAllowed: t.swapAllowed(),
		Images: []string{t.Plan.Images[plan.Pause]},
	}
	if t.m.ControlPlane() {
		f.Images = append(f.Images, t.Plan.Images[plan.APIServer], t.Plan.Images[plan.ControllerManager], t.Plan.Images[plan.Scheduler])
	}
	if t.m.EtcdMember {
		f.Images = append(f.Images, t.Plan.Images[plan.Etcd])
	}
	if t.Plan.HasVIP(t.m) {
		f.Images = append(f.Images, t.Plan.Images[plan.KubeVIP])
	}
	if t.Plan.Balanced(t.m) {
		f.Images = append(f.Images, t.Plan.Images[plan.HAProxy])
	}
	for _, peer := range t.etcdPeers() {
		f.Peers = append(f.Peers, preflight.Peer{Name: peer.Name, URL: peer.EtcdClientURL()})
	}
	if t.m.Joins() && t.Plan.Routed() {
		for _, plugin := range []string{"bridge", "host-local", "loopback", "portmap"} {
			f.Plugins = append(f.Plugins, path.Join(plan.CNIBinDir, plugin))
		}
	}
	return f
}

// unknownChecks are the names in ignorePreflight that mean no check of any machine for which the list holds.
func (r *Cluster) unknownChecks() (problems config.Problems) {
	machines := map[string][]*plan.Machine{} // by the layer that sets their list
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; len(m.Settings.IgnorePreflight) > 0 {
			layer := m.Settings.Source["ignorePreflight"]
			machines[layer] = append(machines[layer], m)
		}
	}
	for layer, those := range machines {
		for i, name := range those[0].Settings.IgnorePreflight {
			has := func(m *plan.Machine) bool {
				return slices.ContainsFunc(r.machineChecks(m), func(c preflight.Check) bool { return c.Is(name) })
			}
			if preflight.Known(name) || slices.ContainsFunc(those, has) {
				continue
			}
			var names []string
			for _, c := range r.machineChecks(those[0]) {
				names = append(names, c.Names()...)
			}
			advice := "docs/preflight.md lists them"
			if near := suggest.Nearest(name, names); near != "" {
				advice = fmt.Sprintf("did you mean %q?", near)
			}
			problems = append(problems, r.Plan.Config.Problemf(fmt.Sprintf("%s.ignorePreflight[%d]", layer, i), "no check of %s has this name; %s", those[0].Name, advice))
		}
	}
	slices.SortFunc(problems, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// machineChecks are m's checks without its dates.
func (r *Cluster) machineChecks(m *plan.Machine) []preflight.Check {
	return preflight.Checks((&tree{Cluster: r, m: m}).preflight())
}
