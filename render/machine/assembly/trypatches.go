package assembly

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
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
	heads := map[string][]patches.Head{} // by the list of patches
	for _, u := range r.patches.All() {
		name := fmt.Sprintf("patch %q", u.Name)
		matched, changed := r.patches.Effect(u)
		switch {
		case !matched:
			list, _, _ := strings.Cut(u.Path, "patches[")
			if heads[list] == nil {
				heads[list] = r.heads(u)
			}
			todo := u.Offer(heads[list]) + "; see kiln explain patches"
			if u.Names("EncryptionConfiguration") {
				todo = "that one is a secret, which no patch reaches; write " +
					"security.encryptedResources, or security.encryption"
			}
			problems = append(problems, r.Plan.Config.Problemf(u.Path, "%s matches no object; %s",
				name, todo))
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
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problems
	}
	return config.Problems{other}
}

// tryMachine applies the patches for m to every document that they may match, and returns the
// problems of those that cannot be applied.
func (r *Cluster) tryMachine(m *plan.Machine) (problems config.Problems) {
	try := func(_ any, err error) {
		if err != nil {
			problems = append(problems,
				problemsOf(err, r.Plan.Config.Problemf(m.Path, "%s", err))...)
		}
	}
	if r.Plan.StaticPods(m) {
		try(r.StaticPods(m, nil))
	}
	if m.ControlPlane() {
		try(r.APIServerSettings(m, nil))
	}
	try(r.KubeletConfig(m, nil))
	return problems
}

// heads lists the objects that a patch, and all others of its list, could match.
func (r *Cluster) heads(u *Patch) (heads []patches.Head) {
	var objects []manifests.Object
	seen := map[string]bool{} // many machines have the same
	read := func(stream []byte) {
		if !seen[string(stream)] {
			seen[string(stream)] = true
			more, _ := manifests.Read(stream) // what cannot be read is offered by no name
			objects = append(objects, more...)
		}
	}
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		if !slices.Contains(r.patches.ForMachine(m), u) {
			continue
		}
		if r.Plan.StaticPods(m) {
			read(manifests.StaticPods(r.Plan, m, r.Public.EtcdCluster()).Base)
		}
		if m.ControlPlane() {
			read(manifests.APIServer(r.Plan).Base)
		}
		read(manifests.Kubelet(r.Plan, m).Base)
	}
	if slices.Contains(r.patches.ForObjects(), u) {
		objects = append(objects, r.Objects...)
		read(manifests.Proxy(r.Objects))
	}
	for _, o := range objects {
		if r.joining(o) == nil { // whose name has half of a token
			heads = append(heads, patches.Head{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
		}
	}
	return heads
}
