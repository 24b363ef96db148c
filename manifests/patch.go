package manifests

import (
	"encoding/json"
	"maps"
	"slices"

	"kiln.dev/kiln/render/plan"
)

// Source is a stream of YAML documents, with patches that put the cluster's values into it.
type Source struct {
	Base    []byte
	From    plan.Origin // where Base comes from; by default our base manifests
	Patches []*Patch
}

// Patch is a strategic merge patch for one object. It is layered, so that kiln explain can show
// where a value comes from: each step is set by one source and overrides the steps before it.
type Patch struct {
	head  object // apiVersion, kind, namespace and name of the object
	steps []step
}

// step holds the values that one source sets.
type step struct {
	from  plan.Origin
	value object
	whole bool // the value includes those of the steps before it
}

func newPatch(apiVersion, kind, namespace, name string) *Patch {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &Patch{head: object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}}
}

func (p *Patch) set(from plan.Origin, value object) {
	p.steps = append(p.steps, step{from, value, false})
}

func (p *Patch) replace(from plan.Origin, value object) {
	p.steps = append(p.steps, step{from, value, true})
}

// first returns the patch with its first n steps.
func (p *Patch) first(n int) object {
	value := object{}
	for _, s := range p.steps[:n] {
		if s.whole {
			value = s.value
		} else {
			value = merged(value, s.value)
		}
	}
	return merged(value, p.head)
}

// Steps returns where the values of a source come from, in the order of the patches.
func (s Source) Steps() (steps []plan.Origin) {
	for _, p := range s.Patches {
		for _, step := range p.steps {
			steps = append(steps, step.from)
		}
	}
	return steps
}

// first returns the patches with the first n of all steps, without those that have none of them.
func (s Source) first(n int) (patches []object) {
	for _, p := range s.Patches {
		if own := min(n, len(p.steps)); own > 0 {
			patches = append(patches, p.first(own))
			n -= own
		}
	}
	return patches
}

// First returns the patches with the first n of all steps, as JSON.
func (s Source) First(n int) (texts []string) {
	for _, p := range s.first(n) {
		text, err := json.Marshal(p)
		if err != nil {
			panic("manifests: a patch of kiln's cannot be encoded: " + err.Error())
		}
		texts = append(texts, string(text))
	}
	return texts
}

// Key returns a text that only sources with the same base and patches have.
func (s Source) Key() []byte {
	key := slices.Clone(s.Base)
	for _, text := range s.First(len(s.Steps())) {
		key = append(append(key, 0), text...)
	}
	return key
}

// merged returns a with b's values on top. Maps and command lines are merged, and so are lists
// whose members have names, by the name; everything else is replaced. Neither a nor b is changed.
func merged(a, b object) object {
	out := maps.Clone(a)
	for key, value := range b {
		switch before := out[key].(type) {
		case object:
			if more, ok := value.(object); ok {
				value = merged(before, more)
			}
		case plan.CommandLine:
			if more, ok := value.(plan.CommandLine); ok {
				value = before.With(more)
			}
		case list:
			if more, ok := value.(list); ok && named(before) && named(more) {
				value = mergedLists(before, more)
			}
		}
		out[key] = value
	}
	return out
}

func named(l list) bool {
	return !slices.ContainsFunc(l, func(v any) bool {
		o, _ := v.(object)
		return o["name"] == nil
	})
}

// mergedLists returns a with b's members: merged by their names, or at the end.
func mergedLists(a, b list) list {
	out := slices.Clone(a)
	for _, v := range b {
		more := v.(object)
		i := slices.IndexFunc(out, func(v any) bool { return v.(object)["name"] == more["name"] })
		if i < 0 {
			out = append(out, more)
		} else {
			out[i] = merged(out[i].(object), more)
		}
	}
	return out
}
