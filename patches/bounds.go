package patches

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/types"

	"kiln.dev/kiln/render/text/yamltext"
)

// MaxObjects is how many objects all add-ons may have together. kustomize compares each object with
// each, and the first boot applies them one by one. A document with more of them would be too large
// for nearly every platform.
const MaxObjects = 1000

// maxBuild is how much work a kustomization may be, see workFor: some 4 seconds of kustomize.
const maxBuild = 4_000_000

type parts struct {
	own     int      // objects in files and of generators
	names   int      // in objects: their own, and those of others
	rename  int      // the work for a reference to an object, if objects get other names
	folders []string // with kustomizations, each as often as it is named
	passes  int      // fields that may change each object
	patches int
	broad   int // patches that may change each object
	copies  int // targets of replacements
}

func (p place) noteSize(k *types.Kustomization) {
	is := parts{own: len(k.ConfigMapGenerator) + len(k.SecretGenerator)}
	is.rename = map[bool]int{true: 4}[is.own > 0 || k.NamePrefix+k.NameSuffix != ""]
	//lint:ignore SA1019 kustomize still does what the fields say
	for _, value := range slices.Concat(k.Resources, k.Bases, k.Components) {
		name := p.inside(value)
		if text, ok := p.files[name]; ok {
			p.addResource(name)
			is.own += 1 + bytes.Count(text, []byte("\n---"))
			is.names += bytes.Count(text, []byte("name:"))
		} else {
			is.folders = append(is.folders, name)
		}
	}
	//lint:ignore SA1019 as above
	patches := slices.Concat(k.Patches, k.PatchesJson6902)
	for _, patch := range patches {
		if t := patch.Target; t != nil && (t.Name == "" || t.Name != regexp.QuoteMeta(t.Name)) {
			is.broad++
		}
	}
	//lint:ignore SA1019 as above
	is.patches = len(patches) + len(k.PatchesStrategicMerge)
	//lint:ignore SA1019 as above
	is.passes = len(k.Labels) + len(k.Images) + len(k.ImageTags) + len(k.Replicas) + len(k.Vars)
	for _, label := range k.Labels {
		is.passes += len(label.FieldSpecs)
	}
	for _, name := range k.Configurations { // of such fields
		is.passes += bytes.Count(p.files[p.inside(name)], []byte("path"))
	}
	//lint:ignore SA1019 as above
	common := len(k.CommonLabels) > 0
	for _, set := range []bool{
		k.NamePrefix != "", k.NameSuffix != "", k.Namespace != "", common,
		len(k.CommonAnnotations) > 0,
	} {
		if set {
			is.passes++
		}
	}
	for _, r := range k.Replacements {
		is.copies += max(1, len(r.Targets)+bytes.Count(p.files[p.inside(r.Path)], []byte("select")))
	}
	p.parts[p.dir] = is
}

type outcome struct{ objects, names, work int }

func (r *reader) checkSize() {
	if len(r.found) > 0 {
		return
	}
	switch b := r.size(r.root); {
	case b.objects > MaxObjects:
		r.problem(r.root, "", "kustomize would make more than %d objects; "+
			"apply some of them with kubectl, once the cluster runs", MaxObjects)
	case b.work > maxBuild:
		r.problem(r.root, "", "kustomize would take too long for its %d objects: each patch, "+
			"label, image, replacement and folder looks at all of them; build it with "+
			"\"kustomize build\" and name the output, or divide it into several add-ons", b.objects)
	}
}

// size returns about how many objects kustomize makes of a folder, and MaxObjects+1 if they are
// more, and how much work that is. Folders that name each other twice double both with every level.
func (r *reader) size(dir string) outcome {
	if b, ok := r.builds[dir]; ok {
		return b
	}
	r.builds[dir] = outcome{} // a circle ends here; kustomize refuses it
	is := r.parts[dir]
	b := outcome{objects: max(is.own, 1), names: is.names}
	for _, below := range is.folders {
		inner := r.size(below)
		b.objects = min(b.objects+inner.objects, MaxObjects+1)
		b.names = min(b.names+inner.names, maxBuild+1)
		b.work = min(b.work+inner.work, maxBuild+1)
	}
	b.work = min(b.work+is.workFor(b.objects, b.names-b.objects), maxBuild+1)
	r.builds[dir] = b
	return b
}

// workFor returns how many microseconds a kustomization with n objects takes: each patch compares
// all with all, a pass reads each, and other names are looked for in all.
func (is parts) workFor(n, references int) int {
	return (1+is.patches)*n*n/2 +
		n*(700*is.broad+100*is.passes+20*is.copies+is.rename*max(0, references))
}

func init() { jsonpatch.AccumulatedCopySizeLimit = MaxAdded }

// long is the size of a stream that may have a list with more maps than kustomize can compare.
const long = 8 << 10

// checkSize fails if it takes kustomize too long to apply p to the objects of a stream: it looks
// for each map of a list in the whole list, and a patch may be put into each object.
func (p *Patch) checkSize(stream []byte) error {
	if len(stream) > long {
		if err := yamltext.Resource.Check(stream); err != nil {
			return fmt.Errorf("apply patch %s to a stream of objects: %w", p.Name, err)
		}
	}
	if (1+bytes.Count(stream, []byte("\n---")))*len(p.Text) <= MaxAdded {
		return nil
	}
	if n := p.count(stream); n > 1 && n*len(p.Text) > MaxAdded {
		return fmt.Errorf("apply patch %s: it has %d bytes and changes %d objects; together at "+
			"most 1 MiB (%d) may be added to them; name fewer objects in its target",
			p.Name, len(p.Text), n, MaxAdded)
	}
	return nil
}

// maxKeys is how many keys a generator may be given. kustomize looks for each key among all others.
const maxKeys = 5000

func (p place) checkKeys(field string, g *types.GeneratorArgs) {
	n := len(g.LiteralSources) + len(g.FileSources)
	for _, name := range append(slices.Clone(g.EnvSources), g.EnvSource) {
		n += bytes.Count(p.files[p.inside(name)], []byte("\n"))
	}
	if n > maxKeys {
		p.problem(p.name, field, "has %d keys; kustomize compares each of them with each; at most "+
			"%d; put long data into a file and name it under files", n, maxKeys)
	}
}

// bounded reports whether a file can be read in time. If not, it notes why and empties it.
func (r *reader) bounded(name string, use yamltext.Use) bool {
	err := use.Check(r.files[name])
	if err != nil {
		r.found = append(r.found, fmt.Errorf("%s:%w", name, err))
		r.files[name] = []byte{}
	}
	return err == nil
}

// boundedText is bounded for a patch in a field of a kustomization.
func (p place) boundedText(text, field string) bool {
	e := yamltext.Patch.Find([]byte(text))
	if e != nil {
		p.problem(p.name, field, "line %d, column %d of it: %s", e.Line, e.Column, e.Message)
	}
	return e == nil
}

// documents returns the documents of a file. They are read once: each field may have a problem.
func (r *reader) documents(name string) []yamltext.Document {
	if r.docs[name] == nil {
		r.docs[name] = yamltext.Documents(r.files[name])
	}
	return r.docs[name]
}
