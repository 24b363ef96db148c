// This file holds the user's patches by layer, applies those of a machine to a stream of
// documents, and remembers which had an effect.

package assembly

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/plan"
)

// PatchSet holds the user's patches. Its methods may be called from several goroutines.
type PatchSet struct {
	config *config.Cluster // for the places of patches

	cluster, controlPlane, workers []*Patch
	machines                       map[string][]*Patch // by the path of the node or pool
	all                            []*Patch

	mu   sync.Mutex        // guards lost, and matched and changed of every patch
	lost config.Problems   // what patches have taken away
	made once.Values[made] // by what the streams are made from
}

// made is a stream with the user's patches, or why it cannot be made.
type made struct {
	stream []byte
	err    error
}

// Patch is one patch and its effect so far. A patch without effect is a mistake.
type Patch struct {
	*patches.Patch
	Path             string // in the configuration
	matched, changed bool
}

// ReadPatches returns the patches of every layer. The problems are those of patches that cannot be
// read.
func ReadPatches(c *config.Cluster) (s *PatchSet, problems config.Problems) {
	s = &PatchSet{config: c}
	layer := func(path string, entries []config.Patch) (out []*Patch) {
		if problem := tooMany(c, entries); problem != "" {
			problems = append(problems, c.Problemf(path, "%s", problem))
			return nil
		}
		for i := range entries {
			field := fmt.Sprintf("%s[%d]", path, i)
			p, err := parsePatch(c, field, &entries[i])
			if err != nil {
				message := strings.TrimPrefix(err.Error(), field+": ")
				problems = append(problems, c.Problemf(field, "%s", message))
				continue
			}
			out = append(out, &Patch{Patch: p, Path: field})
		}
		s.all = append(s.all, out...)
		return out
	}
	spec := &c.Spec
	s.cluster = layer("patches", spec.Patches)
	s.controlPlane = layer("controlPlane.patches", spec.ControlPlane.Patches)
	s.workers = layer("workers.patches", spec.Workers.Patches)
	s.machines = map[string][]*Patch{}
	for i := range spec.Nodes {
		if entries := spec.Nodes[i].Patches; len(entries) > 0 {
			path := fmt.Sprintf("nodes[%d]", i)
			s.machines[path] = layer(path+".patches", entries)
		}
	}
	for i := range spec.Pools {
		if entries := spec.Pools[i].Patches; len(entries) > 0 {
			path := fmt.Sprintf("pools[%d]", i)
			s.machines[path] = layer(path+".patches", entries)
		}
	}
	return s, problems
}

// What the patches of one list may have. Each patch is merged into the objects of each machine, and
// a file that several patches name counts for each. Lists of a cluster have some ten patches.
const (
	maxPatches = 100
	maxBytes   = 1 << 20
)

// tooMany returns why the patches of one list are too many or too large, "" if they are not.
func tooMany(c *config.Cluster, entries []config.Patch) string {
	if len(entries) > maxPatches {
		return fmt.Sprintf("has %d patches; at most %d; one patch may change many fields",
			len(entries), maxPatches)
	}
	n := 0
	for i := range entries {
		n += len(entries[i].Patch) + len(c.Text(entries[i].PatchFrom))
	}
	if n > maxBytes {
		return fmt.Sprintf("the patches have %d bytes together, a file that several of them name "+
			"counted for each; at most 1 MiB (%d)", n, maxBytes)
	}
	return ""
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

// ForMachine returns the patches for m's static pods and configuration files, widest layer first.
func (s *PatchSet) ForMachine(m *plan.Machine) []*Patch {
	out := append([]*Patch(nil), s.cluster...)
	switch m.Role {
	case node.ControlPlane:
		out = append(out, s.controlPlane...)
	case node.Worker:
		out = append(out, s.workers...)
	}
	return append(out, s.machines[m.Path]...)
}

// ForObjects returns the patches for the API objects, widest layer first.
func (s *PatchSet) ForObjects() []*Patch {
	return append(append([]*Patch(nil), s.cluster...), s.controlPlane...)
}

// PatchWatch is called after each stage that a stream of documents goes through: with the source of
// the stage and the stream as the stage left it. The stages are, in this order: the base manifest,
// each step of kiln's own values, each add-on, each of the user's patches that matches, and the
// marker. Only the stream of API objects has add-ons and a marker.
//
// A nil Watch is never called. Then kiln's own values are put in at once instead of step by step;
// the last stream is the same.
type PatchWatch func(from plan.Origin, stream []byte)

// Report calls w unless it is nil.
func (w PatchWatch) Report(from plan.Origin, stream []byte) {
	if w != nil {
		w(from, stream)
	}
}

// All returns all patches, in the order of the configuration.
func (s *PatchSet) All() []*Patch { return s.all }

// Own reports whether a machine has patches in its own entry.
func (s *PatchSet) Own(m *plan.Machine) bool { return len(s.machines[m.Path]) > 0 }

// Effect reports whether a patch has matched an object, and whether it has changed one.
func (s *PatchSet) Effect(u *Patch) (matched, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.matched, u.changed
}

// Apply returns the stream of a source with kiln's own values and then the user's patches. The
// error is config.Problems for the patches that cannot be applied. Apply records for each patch
// whether it matched an object and whether it changed one. What many machines have in common is
// made once; with a watch it is made anew.
func (s *PatchSet) Apply(src manifests.Source, user []*Patch, watch PatchWatch) ([]byte, error) {
	if watch != nil {
		return s.apply(src, user, watch)
	}
	key := src.Key()
	for _, u := range user {
		key = append(append(key, 0), u.Path...)
	}
	m := s.made.Of(key, func() made {
		stream, err := s.apply(src, user, nil)
		return made{stream, err}
	})
	return m.stream, m.err
}

func (s *PatchSet) apply(src manifests.Source, user []*Patch, watch PatchWatch) ([]byte, error) {
	from := append([]plan.Origin{cmp.Or(src.From, plan.Base)}, src.Steps()...)
	whole := len(from) - 1
	n := whole
	if watch != nil {
		n = 0
	}
	var out []byte
	for ; n <= whole; n++ {
		var err error
		if out, err = src.Stream(n); err != nil {
			return nil, err
		}
		watch.Report(from[n], out)
	}
	if len(src.Patches) == 0 || len(user) > 0 { // else it is as kustomize would write it
		var err error
		if out, err = s.applyUser(out, user, watch); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// small is how long a patch is that is not looked at alone: it adds at most some 100 kB. What a
// longer one adds is counted at once.
const small = 10_000

// applyUser returns a stream after the user's patches, as kustomize writes it.
func (s *PatchSet) applyUser(base []byte, user []*Patch, watch PatchWatch) ([]byte, error) {
	stream, err := patches.Read(base)
	if err != nil {
		return nil, err
	}
	var problems config.Problems
	var last *Patch // that matched
	var tooMuch *patches.TooMuch
	for _, u := range user {
		effect, err := stream.Apply(u.Patch)
		if err == nil && !effect.Matched {
			continue
		}
		if err == nil && (watch != nil || len(u.Text) > small) {
			var out []byte
			if out, err = grown(stream, base); err == nil {
				watch.Report(plan.Origin{Field: u.Path}, out)
			}
		}
		if err != nil {
			problems = append(problems, s.Problem(u, err))
			if errors.As(err, &tooMuch) {
				return nil, errors.Join(problems, tooMuch) // the patches behind it are too much too
			}
			continue
		}
		s.Record(u, effect.Changed)
		last = u
	}
	if len(problems) > 0 {
		return nil, problems
	}
	out, err := grown(stream, base)
	if err != nil && last != nil {
		return nil, errors.Join(config.Problems{s.Problem(last, err)}, err)
	}
	if err == nil && watch == nil {
		s.noteLost(base, out, last)
	}
	return out, err
}

// grown returns the text of a stream. It fails if the patches have added too much to its base.
func grown(stream *patches.Stream, base []byte) ([]byte, error) {
	out, err := stream.Bytes()
	n := len(out) - len(base)
	if err == nil && n > patches.MaxAdded { // JSON is longer as kustomize writes it
		var plain *patches.Stream
		if plain, err = patches.Read(base); err == nil {
			base, err = plain.Bytes()
			n = len(out) - len(base)
		}
	}
	if err == nil && n > patches.MaxAdded {
		return nil, &patches.TooMuch{Message: fmt.Sprintf("the patches up to this one add %d "+
			"bytes; at most 1 MiB (%d), because no file of a machine may be larger",
			n, patches.MaxAdded)}
	}
	return out, err
}

// Problem returns why a patch cannot be applied, at the line of the patch.
func (s *PatchSet) Problem(u *Patch, err error) config.Problem {
	failure := &patches.Failure{}
	errors.As(err, &failure)
	at := s.config.TextPlace(u.Path, "patch", "patchFrom", failure.Line, failure.Column)
	return config.Problem{
		File: at.File, Line: at.Line, Column: at.Column, Path: u.Path, Message: err.Error(),
	}
}

// Record notes that a patch matched an object, and whether it changed one.
func (s *PatchSet) Record(u *Patch, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.matched, u.changed = true, u.changed || changed
}
