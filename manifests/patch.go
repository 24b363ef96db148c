package manifests

import (
	"maps"
	"slices"

	"kiln/render/plan"
)

// Source is a stream of YAML documents and the strategic merge patches that put the cluster's own values into it.
type Source struct {
	Base    []byte
	From    plan.Origin // who is behind Base; by default our base manifests
	Patches []*Patch
}

// Patch is a strategic merge patch for one object, in the steps of those who decide about its values.
type Patch struct {
	head  object // whom it is for
	steps []step
}

// step is what one of them puts into an object.
type step struct {
	from  plan.Origin
	value object
	whole bool // the value holds those of the steps before it
}

// newPatch returns an empty patch for the object of that kind and name.
func newPatch(apiVersion, kind, namespace, name string) *Patch {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &Patch{head: object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}}
}

// set adds a step whose value goes over those before it.
func (p *Patch) set(from plan.Origin, value object) {
	p.steps = append(p.steps, step{from, value, false})
}

// replace adds a step whose value already holds those before it.
func (p *Patch) replace(from plan.Origin, value object) {
	p.steps = append(p.steps, step{from, value, true})
}

// text returns the patch with its first n steps.
func (p *Patch) text(n int) string {
	value := object{}
	for _, s := range p.steps[:n] {
		if s.whole {
			value = s.value
		} else {
			value = merged(value, s.value)
		}
	}
	return string(marshal(merged(value, p.head)))
}

// Steps returns who decides about the values of a source, in the order of the patches.
func (s Source) Steps() (steps []plan.Origin) {
	for _, p := range s.Patches {
		for _, step := range p.steps {
			steps = append(steps, step.from)
		}
	}
	return steps
}

// Texts returns the patches whole.
func (s Source) Texts() []string {
	return s.First(len(s.Steps()))
}

// First returns the patches with no more than the first n of all steps.
func (s Source) First(n int) (texts []string) {
	for _, p := range s.Patches {
		if own := min(n, len(p.steps)); own > 0 {
			texts = append(texts, p.text(own))
			n -= own
		}
	}
	return texts
}

// merged returns a with b's values on top: mappings and command lines merge, and so do lists of things with names, by these;
// everything else is replaced. Neither is changed.
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

// named says that everything in a list has a name.
func named(l list) bool {
	return !slices.ContainsFunc(l, func(v any) bool {
		o, _ := v.(object)
		return o["name"] == nil
	})
}

// mergedLists returns a with b's elements, those with a known name merged and the others behind.
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
