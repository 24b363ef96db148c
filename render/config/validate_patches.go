package config

import (
	"reflect"

	"kiln/render/yamlpath"
)

// patches checks that each patch has one source, and that its target selects something.
func (v *checker) patches(patches []Patch, at *yamlpath.Location) {
	for i, p := range patches {
		here := at.Index(i)
		ok := v.oneSource(p.Patch, p.PatchFrom, "patch", "patchFrom", here)
		if ok && p.Patch == "" && p.PatchFrom == "" {
			v.report(here.Key("patch"), "is empty; write a strategic merge or JSON6902 patch")
		}
		if p.Target != nil && *p.Target == (Target{}) && v.knownKeys(here.Key("target")) {
			v.report(here.Key("target"), "selects everything; name at least a kind, "+
				"or remove it from a strategic merge patch that names its object")
		}
	}
}

// knownKeys reports whether all keys of a target are known. If one is misspelt, the target was
// meant to select something else.
func (v *checker) knownKeys(at *yamlpath.Location) bool {
	target, _ := yamlpath.Find(v.root, at)
	if target == nil {
		return true
	}
	known := structs[reflect.TypeFor[Target]()].byName
	for i := 0; i < len(target.Content); i += 2 {
		if known[target.Content[i].Value] == nil {
			return false
		}
	}
	return true
}

// addons checks that each add-on is named once. The loader reports those that cannot be read.
func (v *checker) addons() {
	seen := map[string]int{}
	for i, a := range v.c.Spec.Addons {
		name := cleanPath(a.Path)
		if first, ok := seen[name]; ok {
			v.report(v.spec.Key("addons").Index(i).Key("path"),
				"%s is already addons[%d]; remove one", quote(a.Path), first)
			continue
		}
		seen[name] = i
	}
}
