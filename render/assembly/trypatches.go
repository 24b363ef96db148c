package assembly

import (
	"errors"
	"fmt"
	"slices"

	"kiln/manifests"
	"kiln/render/config"
	"kiln/render/patchset"
	"kiln/render/plan"
)

// tryPatches applies every patch once, so that New finds a patch without effect, whatever machines
// are rendered later. The first worker and the first etcd machine without patches of their own
// stand for all others of their role.
func (r *Cluster) tryPatches() (problems config.Problems) {
	if len(r.patches.All()) == 0 {
		return nil
	}
	tried := map[string]bool{}
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		if !r.patches.Own(m) && !m.ControlPlane() {
			if tried[m.Role] {
				continue
			}
			tried[m.Role] = true
		}
		for _, p := range r.tryMachine(m) {
			if !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	for _, u := range r.patches.All() {
		name := fmt.Sprintf("patch %q", u.Name)
		matched, changed := r.patches.Effect(u)
		switch {
		case !matched:
			problems = append(problems, r.Plan.Config.Problemf(u.Path,
				"%s matches no object; %s; see kiln explain patches", name, r.offer(u)))
		case !changed:
			problems = append(problems, r.Plan.Config.Problemf(u.Path,
				"%s changes nothing: what it sets is so already; "+
					"remove it, or correct the field that it sets", name))
		}
	}
	return problems
}

// problemsOf returns the problems that an error holds, or other if it holds none.
func problemsOf(err error, other config.Problem) config.Problems {
	var problems config.Problems
	if errors.As(err, &problems) {
		return problems
	}
	return config.Problems{other}
}

// tryMachine applies the patches for m to every document that they may match, and returns the
// problems of those that cannot be applied.
func (r *Cluster) tryMachine(m *plan.Machine) (problems config.Problems) {
	try := func(err error) {
		if err != nil {
			problems = append(problems,
				problemsOf(err, r.Plan.Config.Problemf(m.Path, "%s", err))...)
		}
	}
	if r.Plan.StaticPods(m) {
		_, err := r.StaticPods(m, nil)
		try(err)
	}
	if m.ControlPlane() {
		_, err := r.APIServerSettings(m, nil)
		try(err)
	}
	_, err := r.KubeletConfig(m, nil)
	try(err)
	return problems
}

// offer says which objects of its layer a patch could match.
func (r *Cluster) offer(u *patchset.Patch) string {
	var streams [][]byte
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		if !slices.Contains(r.patches.ForMachine(m), u) {
			continue
		}
		if r.Plan.StaticPods(m) {
			streams = append(streams, manifests.StaticPods(r.Plan, m, r.Public.EtcdCluster()).Base)
		}
		if m.ControlPlane() {
			streams = append(streams, manifests.APIServer(r.Plan).Base)
		}
		streams = append(streams, manifests.Kubelet(r.Plan, m).Base)
	}
	if slices.Contains(r.patches.ForObjects(), u) {
		for _, o := range r.Objects {
			streams = append(streams, o.YAML)
		}
		streams = append(streams, manifests.Proxy(r.Objects))
	}
	return u.Offer(streams)
}
