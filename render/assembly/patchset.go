package assembly

import (
	"bytes"
	"cmp"
	"errors"
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
	config *config.Cluster // for the places of patches

	cluster, controlPlane, workers []*userPatch
	machines                       map[string][]*userPatch // by the path of the node or pool
	all                            []*userPatch

	mu sync.Mutex // guards matched and changed of every patch
}

// userPatch is one patch and its effect so far. A patch without effect is a mistake.
type userPatch struct {
	*patches.Patch
	path             string // in the configuration
	matched, changed bool
}

// read parses the patches of every layer.
func (s *patchSet) read(c *config.Cluster) (problems config.Problems) {
	s.config = c
	layer := func(path string, entries []config.Patch) (out []*userPatch) {
		for i := range entries {
			field := element(path, i)
			p, err := parsePatch(c, field, &entries[i])
			if err != nil {
				message := strings.TrimPrefix(err.Error(), field+": ")
				problems = append(problems, c.Problemf(field, "%s", message))
				continue
			}
			out = append(out, &userPatch{Patch: p, path: field})
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
		if entries := spec.Nodes[i].Patches; len(entries) > 0 {
			path := element("nodes", i)
			s.machines[path] = layer(path+".patches", entries)
		}
	}
	for i := range spec.Pools {
		if entries := spec.Pools[i].Patches; len(entries) > 0 {
			path := element("pools", i)
			s.machines[path] = layer(path+".patches", entries)
		}
	}
	return problems
}

// parsePatch parses the patch at a field of the configuration. Messages call it by its file, or by
// the field if it is inline.
func parsePatch(c *config.Cluster, field string, entry *config.Patch) (*patches.Patch, error) {
	name, content := field, entry.Patch
	if entry.PatchFrom != "" {
		name, content = entry.PatchFrom, string(c.Text(entry.PatchFrom))
	}
	var target *patches.Target
	if t := entry.Target; t != nil {
		target = &patches.Target{
			Group: t.Group, Version: t.Version, Kind: t.Kind,
			Name: t.Name, Namespace: t.Namespace, LabelSelector: t.LabelSelector,
		}
	}
	return patches.New(name, content, target)
}

// forMachine returns the patches for m's static pods and configuration files, widest layer first.
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

// forObjects returns the patches for the API objects, widest layer first.
func (s *patchSet) forObjects() []*userPatch {
	return append(append([]*userPatch(nil), s.cluster...), s.controlPlane...)
}

// Watch is called after each stage that a stream of documents goes through: with the source of the
// stage and the stream as the stage left it. The stages are, in this order: the base manifest, each
// step of kiln's own values, each add-on, each of the user's patches that matches, and the marker.
// Only the stream of API objects has add-ons and a marker.
//
// A nil Watch is never called. Then kiln's own values are put in at once instead of step by step;
// the last stream is the same.
type Watch func(from plan.Origin, stream []byte)

// report calls w unless it is nil.
func (w Watch) report(from plan.Origin, stream []byte) {
	if w != nil {
		w(from, stream)
	}
}

// apply returns the stream of a source with kiln's own values and then the user's patches. The
// error is config.Problems for the patches that cannot be applied. apply records for each patch
// whether it matched an object and whether it changed one.
func (s *patchSet) apply(src manifests.Source, user []*userPatch, watch Watch) ([]byte, error) {
	from := append([]plan.Origin{cmp.Or(src.From, plan.Base)}, src.Steps()...)
	whole := len(from) - 1
	n := whole
	if watch != nil {
		n = 0
	}
	var out []byte
	for ; n <= whole; n++ {
		var err error
		if out, err = applySteps(src, n); err != nil {
			return nil, err
		}
		watch.report(from[n], out)
	}
	var problems config.Problems
	for _, u := range user {
		if !u.Matches(out) {
			continue
		}
		next, err := patches.Apply(out, u.Patch)
		if err != nil {
			problems = append(problems, s.problem(u, err))
			continue
		}
		s.record(u, !bytes.Equal(next, out))
		out = next
		watch.report(plan.Origin{Field: u.path}, out)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

// problem returns why a patch cannot be applied, at the line of the patch.
func (s *patchSet) problem(u *userPatch, err error) config.Problem {
	failure := &patches.Failure{}
	errors.As(err, &failure)
	at := s.config.TextPlace(u.path, "patch", "patchFrom", failure.Line, failure.Column)
	return config.Problem{
		File: at.File, Line: at.Line, Column: at.Column, Path: u.path, Message: err.Error(),
	}
}

// record notes that a patch matched an object, and whether it changed one.
func (s *patchSet) record(u *userPatch, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.matched, u.changed = true, u.changed || changed
}

// applySteps returns the stream of a source with the first n steps of kiln's own values.
func applySteps(src manifests.Source, n int) ([]byte, error) {
	var steps []*patches.Patch
	for i, content := range src.First(n) {
		p, err := patches.New(fmt.Sprintf("of kiln, number %d", i+1), content, nil)
		if err != nil {
			return nil, err
		}
		steps = append(steps, p)
	}
	return patches.Apply(src.Base, steps...)
}

// HasPatches reports whether the configuration has patches for a machine.
func (r *Cluster) HasPatches(m *plan.Machine) bool { return len(r.patches.forMachine(m)) > 0 }

// PatchText returns the content of the user's patch at a field of the configuration. It reports
// whether there is one.
func (r *Cluster) PatchText(field string) (content string, ok bool) {
	for _, u := range r.patches.all {
		if u.path == field {
			return u.Text, true
		}
	}
	return "", false
}

// patched returns the objects of a source with kiln's own values and the user's patches for m.
func (r *Cluster) patched(
	src manifests.Source, m *plan.Machine, watch Watch,
) ([]manifests.Object, error) {
	out, err := r.patches.apply(src, r.patches.forMachine(m), watch)
	if err != nil {
		return nil, err
	}
	return manifests.Read(out)
}
