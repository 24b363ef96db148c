package patches

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/hasher"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// The values of a Secret must stay in it. Everything else of an add-on stands in review twins,
// reports and differences: other objects, and the name and the kind of the Secret itself. kustomize
// can carry a value out in four ways (api v0.21.2):
//
//   - replacements and vars copy any field into any other;
//   - operations of JSON6902 copy within the object, and may change its kind;
//   - a strategic merge changes the kind with the option allowKindChange;
//   - a generator puts a hash of the values into the name.

const secretKind = "Secret"

var shownPaths = map[string]bool{
	"": true, "metadata.name": true, "metadata.namespace": true, "kind": true, "apiVersion": true,
	"type": true,
}

// keepValues says what to do about a field that copies a value of a Secret.
const keepValues = "a value of a Secret must not leave it, because everybody can read the rest " +
	"in reviews and reports; let the program read the Secret itself, such as with secretKeyRef"

// mayBeSecret reports whether a selector by kind, or by none, may select a Secret.
func (r *reader) mayBeSecret(kind string) bool {
	return kind == secretKind || kind == "" && r.hasSecrets()
}

func (r *reader) targetsSecret(target *types.Selector) bool {
	if target == nil {
		return false
	}
	regex, err := types.NewSelectorRegex(target)
	return err == nil && regex.MatchGvk(resid.Gvk{Version: "v1", Kind: secretKind}) &&
		(target.Kind != "" || r.hasSecrets())
}

func (p place) checkSecrets(k *types.Kustomization) {
	for i := range k.Replacements {
		field := fmt.Sprintf("replacements[%d]", i)
		p.checkReplacement(p.name, field, &k.Replacements[i].Replacement)
		if name := k.Replacements[i].Path; name != "" {
			name = p.inside(name)
			for _, r := range replacementsIn(p.files[name]) {
				p.checkReplacement(name, "", &r)
			}
		}
	}
	//lint:ignore SA1019 kustomize still does what the field says
	vars, operations := k.Vars, k.PatchesJson6902
	for i := range vars {
		v := &vars[i]
		if p.mayBeSecret(v.ObjRef.Kind) && !shownPaths[v.FieldRef.FieldPath] {
			p.problem(p.name, fmt.Sprintf("vars[%d].fieldref", i), "%s", keepValues)
		}
	}
	for i := range k.SecretGenerator {
		p.checkKeys(fmt.Sprintf("secretGenerator[%d]", i), &k.SecretGenerator[i].GeneratorArgs)
		p.noteGenerator(fmt.Sprintf("secretGenerator[%d]", i), &k.SecretGenerator[i])
	}
	for i := range k.ConfigMapGenerator {
		p.checkKeys(fmt.Sprintf("configMapGenerator[%d]", i),
			&k.ConfigMapGenerator[i].GeneratorArgs)
		p.noteSources(fmt.Sprintf("configMapGenerator[%d]", i), &k.ConfigMapGenerator[i])
	}
	for i := range k.Patches {
		p.checkPatch(fmt.Sprintf("patches[%d]", i), &k.Patches[i])
	}
	for i := range operations {
		p.checkPatch(fmt.Sprintf("patchesJson6902[%d]", i), &operations[i])
	}
}

type source struct{ file, field, of string }

func (p place) noteSources(field string, g *types.ConfigMapArgs) {
	for _, name := range sourcesOf(&g.GeneratorArgs) {
		p.sources = append(p.sources, source{p.name, field, p.inside(name)})
	}
}

// sourcesOf returns the files that a generator reads, as it names them.
func sourcesOf(g *types.GeneratorArgs) (names []string) {
	names = append(slices.Clone(g.EnvSources), g.EnvSource)
	for _, source := range g.FileSources {
		names = append(names, fileOf(source))
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// fileOf returns the file that an entry of files names: KEY=PATH or PATH.
func fileOf(source string) string {
	if _, file, ok := strings.Cut(source, "="); ok {
		return file
	}
	return source
}

// checkSources notes each ConfigMap that is made of a file with values of a Secret: one that a
// secretGenerator reads, or one that has a Secret itself.
func (r *reader) checkSources() {
	for _, s := range r.sources {
		if r.secretSources[s.of] || Mentions(r.files[s.of]).Kind {
			r.problem(s.file, s.field, "%s has values of a Secret, and everybody can read a "+
				"ConfigMap; give the Secret a file of its own", s.of)
		}
	}
}

// replacementsIn reads a file of replacements: a list or a single one.
func replacementsIn(text []byte) (all []types.Replacement) {
	if yaml.Unmarshal(text, &all) == nil {
		return all
	}
	var one types.Replacement
	if yaml.Unmarshal(text, &one) == nil {
		return []types.Replacement{one}
	}
	return nil
}

// checkReplacement notes a replacement that copies a value of a Secret to anything but a value of a
// Secret. It stands in the file name, at a field of it.
func (p place) checkReplacement(name, field string, r *types.Replacement) {
	if r.Source == nil || !p.mayBeSecret(r.Source.Kind) || shownPaths[r.Source.FieldPath] {
		return
	}
	at := strings.TrimPrefix(field+".source", ".")
	if r.Source.Kind == "" {
		p.problem(name, at, "names no kind, and the add-on has Secrets, whose values must not be "+
			"copied; write the kind of the object")
		return
	}
	for _, t := range r.Targets {
		if t == nil || t.Select == nil || t.Select.Kind != secretKind || len(t.FieldPaths) == 0 {
			p.problem(name, at, "%s", keepValues)
			return
		}
		for _, to := range t.FieldPaths {
			if key, _, _ := strings.Cut(to, "."); key != "data" && key != "stringData" {
				p.problem(name, at, "%s", keepValues)
				return
			}
		}
	}
}

func (p place) checkPatch(field string, patch *types.Patch) {
	text, name, at := []byte(patch.Patch), p.name, field
	if patch.Path != "" {
		name, at = p.inside(patch.Path), ""
		text = p.files[name]
	} else if !p.boundedText(patch.Patch, field+".patch") {
		return
	}
	if patch.Options != nil && patch.Options.AllowKindChange &&
		(p.targetsSecret(patch.Target) || patch.Target == nil && Mentions(text).any()) {
		p.problem(p.name, field+".options", "%s", keepKind)
	}
	var ops []operation
	if !p.targetsSecret(patch.Target) {
		return
	}
	p.notePatch(text)
	if yaml.Unmarshal(text, &ops) != nil {
		return
	}
	for _, op := range ops {
		if why := op.exposes(); why != "" {
			p.problem(name, at, "%s", why)
		}
	}
}

// keepKind says what to do about a patch that changes the kind of a Secret.
const keepKind = "a Secret must stay one, because everybody can read the values of other kinds " +
	"in reviews and reports; write the other object in a file of its own"

// exposes returns why an operation on a Secret would show its values, "" if it does not.
func (op operation) exposes() string {
	switch {
	case op.Op == "test":
		return "" // it changes nothing
	case op.Path == "/kind" || op.Path == "/apiVersion":
		return keepKind
	case (op.Op == "copy" || op.Op == "move") && (op.From == "" || isValue(op.From)) &&
		!isValue(op.Path):
		return keepValues
	}
	return ""
}

func isValue(pointer string) bool {
	for _, field := range []string{"/data", "/stringData"} {
		if pointer == field || strings.HasPrefix(pointer, field+"/") {
			return true
		}
	}
	return false
}

// checkNames fails if the name of a Secret ends with kustomize's hash of its values: with it, a
// guess at a value can be confirmed.
func (r *reader) checkNames(resources resmap.ResMap) error {
	for _, o := range resources.Resources() {
		name, end, ok := cutLast(o.GetName(), "-")
		if o.GetKind() != secretKind || !ok {
			continue
		}
		unnamed := o.RNode.Copy()
		if err := unnamed.SetName(name); err != nil {
			return err
		}
		if hash, err := (&hasher.Hasher{}).Hash(unnamed); err != nil || hash != end {
			continue
		}
		file, field := r.generatorOf(name)
		r.problem(file, field, "the name of the Secret %s ends with a hash of its values, by "+
			"which a guess can be confirmed; write options: {disableNameSuffixHash: true}", name)
	}
	return r.err()
}

// cutLast cuts a string around the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}
