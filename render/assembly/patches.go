package assembly

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"

	"kiln/manifests"
	"kiln/patches"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// patchSet holds the user's patches by layer.
type patchSet struct {
	cluster, controlPlane, workers []*userPatch
	machines                       map[string][]*userPatch // by the path of the node or pool
	all                            []*userPatch

	mu sync.Mutex
}

// userPatch is one patch and what it has done so far: a patch that matches nothing or changes nothing is a mistake.
type userPatch struct {
	*patches.Patch
	path             string // in the configuration
	matched, changed bool
}

// read parses the patches of every layer.
func (s *patchSet) read(c *config.Cluster) (problems config.Problems) {
	layer := func(path string, list []config.Patch) (out []*userPatch) {
		for i, entry := range list {
			at := fmt.Sprintf("%s[%d]", path, i)
			name, text := at, entry.Patch
			if entry.PatchFrom != "" {
				name, text = entry.PatchFrom, string(c.Text(entry.PatchFrom))
			}
			var target *patches.Target
			if t := entry.Target; t != nil {
				target = &patches.Target{Group: t.Group, Version: t.Version, Kind: t.Kind, Name: t.Name, Namespace: t.Namespace, LabelSelector: t.LabelSelector}
			}
			p, err := patches.New(name, text, target)
			if err != nil {
				problems = append(problems, c.Problemf(at, "%s", err))
				continue
			}
			out = append(out, &userPatch{Patch: p, path: at})
		}
		s.all = append(s.all, out...)
		return out
	}
	spec := &c.Spec
	s.cluster = layer("patches", spec.Patches)
	s.controlPlane = layer("controlPlane.patches", spec.ControlPlane.Patches)
	s.workers = layer("workers.patches", spec.Workers.Patches)
	s.machines = map[string][]*userPatch{}
	for i := range spec.Nodes {
		if list := spec.Nodes[i].Patches; len(list) > 0 {
			path := fmt.Sprintf("nodes[%d]", i)
			s.machines[path] = layer(path+".patches", list)
		}
	}
	for i := range spec.Pools {
		if list := spec.Pools[i].Patches; len(list) > 0 {
			path := fmt.Sprintf("pools[%d]", i)
			s.machines[path] = layer(path+".patches", list)
		}
	}
	return problems
}

// forMachine returns the patches for m's static pods and kubelet configuration, in the order of their layers.
func (s *patchSet) forMachine(m *plan.Machine) []*userPatch {
	out := append([]*userPatch(nil), s.cluster...)
	switch m.Role {
	case node.ControlPlane:
		out = append(out, s.controlPlane...)
	case node.Worker:
		out = append(out, s.workers...)
	}
	return append(out, s.machines[m.Path]...)
}

// PatchText returns the text of the user's patch at a place in the configuration, and whether there is
// one.
func (r *Cluster) PatchText(field string) (text string, ok bool) {
	for _, u := range r.patches.all {
		if u.path == field {
			return u.Text, true
		}
	}
	return "", false
}

// forObjects returns the patches for the API objects.
func (s *patchSet) forObjects() []*userPatch {
	return append(append([]*userPatch(nil), s.cluster...), s.controlPlane...)
}

// Watch is told of a stream after each stage that it goes through, and who is behind the stage. It is nil unless somebody wants to know:
// then our own values go in one after the other, with the same result as at once.
type Watch func(from plan.Origin, stream []byte)

// report tells a watch, if there is one.
func (w Watch) report(from plan.Origin, stream []byte) {
	if w != nil {
		w(from, stream)
	}
}

// apply puts our own values and then the user's patches into a source. It notes for each patch whether it matched and changed
// anything.
func (s *patchSet) apply(src manifests.Source, user []*userPatch, watch Watch) ([]byte, error) {
	from := append([]plan.Origin{cmp.Or(src.From, plan.Base)}, src.Steps()...)
	last := len(from) - 1
	n := last
	if watch != nil {
		n = 0
	}
	var out []byte
	for ; n <= last; n++ {
		var err error
		if out, err = applySteps(src, n); err != nil {
			return nil, err
		}
		watch.report(from[n], out)
	}
	for _, u := range user {
		if !u.Matches(out) {
			continue
		}
		next, err := patches.Apply(out, u.Patch)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		u.matched, u.changed = true, u.changed || !bytes.Equal(next, out)
		s.mu.Unlock()
		out = next
		watch.report(plan.Origin{Field: u.path}, out)
	}
	return out, nil
}

// applySteps puts the first n steps of our own values into a source.
func applySteps(src manifests.Source, n int) ([]byte, error) {
	var own []*patches.Patch
	for i, text := range src.First(n) {
		p, err := patches.New(fmt.Sprintf("of kiln, number %d", i+1), text, nil)
		if err != nil {
			return nil, err
		}
		own = append(own, p)
	}
	return patches.Apply(src.Base, own...)
}

// tryPatches applies every patch once, before any machine is rendered, so that a patch in vain is found whatever
// machines are rendered. Machines without a patch of their own are represented by the first of their role.
func (r *Cluster) tryPatches() (problems config.Problems) {
	if len(r.patches.all) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		if key := m.Role; len(r.patches.machines[m.Path]) == 0 && !m.ControlPlane() {
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		if r.Plan.StaticPods(m) {
			if _, err := r.StaticPods(m, nil); err != nil {
				return append(problems, r.Plan.Config.Problemf(m.Path, "%s", err))
			}
		}
		if m.ControlPlane() {
			if _, err := r.APIServerSettings(m, nil); err != nil {
				return append(problems, r.Plan.Config.Problemf(m.Path, "%s", err))
			}
		}
		if _, err := r.KubeletConfig(m, nil); err != nil {
			return append(problems, r.Plan.Config.Problemf(m.Path, "%s", err))
		}
	}
	for _, u := range r.patches.all {
		switch {
		case !u.matched:
			problems = append(problems, r.Plan.Config.Problemf(u.path, "%s matches no object; a patch must name an object that kiln renders in this layer: see kiln explain patches", quote(u.Name)))
		case !u.changed:
			problems = append(problems, r.Plan.Config.Problemf(u.path, "%s changes nothing: what it sets is so already; remove it, or correct the field that it sets", quote(u.Name)))
		}
	}
	return problems
}

func quote(name string) string { return fmt.Sprintf("patch %q", name) }

// patched returns the objects of a source with the values of kiln and the patches for m.
func (r *Cluster) patched(src manifests.Source, m *plan.Machine, watch Watch) ([]manifests.Object, error) {
	out, err := r.patches.apply(src, r.patches.forMachine(m), watch)
	if err != nil {
		return nil, err
	}
	return manifests.Read(out)
}

// StaticPods returns m's static pods as finished documents by their paths.
func (r *Cluster) StaticPods(m *plan.Machine, watch Watch) (map[string][]byte, error) {
	objects, err := r.patched(manifests.StaticPods(r.Plan, m, r.Public.EtcdCluster()), m, watch)
	if err != nil {
		return nil, fmt.Errorf("static pods: %w", err)
	}
	pods := map[string][]byte{}
	for _, o := range objects {
		pods[manifests.ManifestPath(o.Name)] = o.YAML
	}
	return pods, nil
}

// APIServerSettings returns the settings of m's API server that hold no secret, by their paths.
func (r *Cluster) APIServerSettings(m *plan.Machine, watch Watch) (map[string][]byte, error) {
	src := manifests.APIServer(r.Plan)
	if len(src.Base) == 0 {
		return nil, nil
	}
	objects, err := r.patched(src, m, watch)
	if err != nil {
		return nil, fmt.Errorf("settings of the API server: %w", err)
	}
	settings := map[string][]byte{}
	for _, o := range objects {
		if settings[manifests.APIServerPath(o.Kind)], err = manifests.WithoutMetadata(o.YAML); err != nil {
			return nil, fmt.Errorf("settings of the API server: %s: %w", o.Kind, err)
		}
	}
	return settings, nil
}

// KubeletConfig returns m's kubelet configuration. One that is watched is made again.
func (r *Cluster) KubeletConfig(m *plan.Machine, watch Watch) ([]byte, error) {
	src := manifests.Kubelet(r.Plan, m)
	user := r.patches.forMachine(m)
	var key strings.Builder
	for _, text := range src.Texts() {
		fmt.Fprintf(&key, "%q", text)
	}
	for _, u := range user {
		fmt.Fprintf(&key, " %s", u.path)
	}
	if done, ok := r.kubelets.Load(key.String()); ok && watch == nil {
		return done.([]byte), nil
	}
	out, err := r.patches.apply(src, user, watch)
	if err == nil {
		out, err = manifests.WithoutMetadata(out)
	}
	if err != nil {
		return nil, fmt.Errorf("kubelet configuration: %w", err)
	}
	r.kubelets.Store(key.String(), out)
	return out, nil
}
