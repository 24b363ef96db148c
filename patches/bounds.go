package patches

import (
	"bytes"
	"fmt"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/types"

	"kiln/render/yamlbound"
	"kiln/render/yamlpath"
)

// MaxObjects is how many objects all add-ons may have together. kustomize compares each object with
// each, and the first boot applies them one by one. A document with more of them would be too large
// for nearly every platform.
const MaxObjects = 1000

// parts are what a kustomization puts together.
type parts struct {
	own     int      // objects in files and of generators
	folders []string // with kustomizations, each as often as it is named
}

// noteSize notes the parts of a kustomization.
func (p place) noteSize(k *types.Kustomization) {
	is := parts{own: len(k.ConfigMapGenerator) + len(k.SecretGenerator)}
	//lint:ignore SA1019 kustomize still does what the field says
	for _, value := range slices.Concat(k.Resources, k.Bases, k.Components) {
		name := p.inside(value)
		if text, ok := p.files[name]; ok {
			p.addResource(name)
			is.own += 1 + bytes.Count(text, []byte("\n---"))
		} else {
			is.folders = append(is.folders, name)
		}
	}
	p.parts[p.dir] = is
}

// size returns about how many objects kustomize makes of a folder, and MaxObjects+1 if they are
// more. Folders that name each other twice double their objects with every level.
func (r *reader) size(dir string) int {
	is := r.parts[dir]
	n := max(is.own, 1)
	r.parts[dir] = parts{} // a circle ends here; kustomize refuses it
	for _, below := range is.folders {
		n = min(n+r.size(below), MaxObjects+1)
	}
	r.parts[dir] = parts{own: n}
	return n
}

func init() { jsonpatch.AccumulatedCopySizeLimit = MaxAdded }

// long is the size of a stream that may have a list with more maps than kustomize can compare.
const long = 8 << 10

// checkSize fails if it takes kustomize too long to apply p to the objects of a stream: it looks
// for each map of a list in the whole list, and a patch may be put into each object.
func (p *Patch) checkSize(stream []byte) error {
	if len(stream) > long {
		if err := yamlbound.Resource.Check(stream); err != nil {
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

// checkKeys notes a generator with too many keys.
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

// bounded reports whether a file can be read in time. If not, it notes why, and nothing of the file
// is read any more.
func (r *reader) bounded(name string, use yamlbound.Use) bool {
	err := use.Check(r.files[name])
	if err != nil {
		r.found = append(r.found, fmt.Errorf("%s:%w", name, err))
		r.files[name] = []byte{}
	}
	return err == nil
}

// boundedText reports whether a patch in a field of a kustomization can be read in time. If not, it
// notes why.
func (p place) boundedText(text, field string) bool {
	e := yamlbound.Patch.Find([]byte(text))
	if e != nil {
		p.problem(p.name, field, "line %d, column %d of it: %s", e.Line, e.Column, e.Message)
	}
	return e == nil
}

// documents returns the documents of a file. They are read once: each field may have a problem.
func (r *reader) documents(name string) []yamlpath.Document {
	if r.docs[name] == nil {
		r.docs[name] = yamlpath.Documents(r.files[name])
	}
	return r.docs[name]
}
