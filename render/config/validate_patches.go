package config

import (
	"bytes"
	"reflect"
	"regexp"

	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) patches(patches []Patch, at *yamltext.Location) {
	for i, p := range patches {
		here := at.Index(i)
		ok := v.oneSource(p.Patch, p.PatchFrom, "patch", "patchFrom", here)
		switch text := v.c.Text(p.PatchFrom); {
		case !ok:
		case p.PatchFrom == "" && hasNoYAML([]byte(p.Patch)):
			v.report(here.Key("patch"), "is empty; write a strategic merge or JSON6902 patch")
		case text != nil && hasNoYAML(text):
			v.report(here.Key("patchFrom"), "%s is empty; "+
				"write a strategic merge or JSON6902 patch into it, or remove the entry",
				quote(p.PatchFrom))
		case p.Target != nil && p.Target.Kind == "Secret" && secretValues.MatchString(p.Patch):
			v.report(here.Key("patch"), "changes the values of a Secret, and everybody who reads "+
				"this file would see them; put the patch into a file named by patchFrom")
		}
		if p.Target != nil && *p.Target == (Target{}) && v.knownKeys(here.Key("target")) {
			v.report(here.Key("target"), "selects everything; name at least a kind, "+
				"or remove it from a strategic merge patch that names its object")
		}
	}
}

var secretValues = regexp.MustCompile(`\b(?:data|stringData)\b`)

// knownKeys reports whether all keys of a target are known. A misspelt one means another target.
func (v *checker) knownKeys(at *yamltext.Location) bool {
	target, _ := yamltext.Find(v.root, at)
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

// noYAML matches the lines of a file without any object: comments, marks of documents, blanks.
var noYAML = regexp.MustCompile(`^(\s*(#.*)?|---\s*(#.*)?|\.\.\.\s*)$`)

func hasNoYAML(text []byte) bool {
	for line := range bytes.Lines(text) {
		if !noYAML.Match(bytes.TrimRight(line, "\r\n")) {
			return false
		}
	}
	return true
}

// addons checks that each add-on is named once, that its file is not empty, and that its images are
// whole references. The loader reports those that cannot be read.
func (v *checker) addons() {
	seen := map[string]int{}
	for i, a := range v.c.Spec.Addons {
		name, at := cleanPath(a.Path), v.spec.Key("addons").Index(i)
		for j, image := range a.Images {
			v.image(image, "web", at.Key("images").Index(j))
		}
		if first, ok := seen[name]; ok {
			v.report(at.Key("path"),
				"%s is already addons[%d]; remove one", quote(a.Path), first)
			continue
		}
		seen[name] = i
		if text := v.c.Text(a.Path); text != nil && hasNoYAML(text) {
			v.report(at.Key("path"),
				"%s is empty; write objects into it, or remove the entry", quote(a.Path))
		}
	}
}
