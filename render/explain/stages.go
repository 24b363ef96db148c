package explain

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/yamltext"
)

// pipeline makes a document: run its stream, and matches tells it from other objects there.
type pipeline struct {
	run     func(assembly.Watch) error
	matches func(manifests.Object) bool
	bare    bool // the document is the object without its metadata
}

// pipeline returns the pipeline of the document at a path on m, or nil if no patch can apply to it.
func (r *Explainer) pipeline(m *plan.Machine, file string) *pipeline {
	switch dir := path.Dir(file); {
	case file == plan.KubeletConfig:
		return &pipeline{
			run: func(watch assembly.Watch) error {
				_, err := r.KubeletConfig(m, watch)
				return err
			},
			matches: func(manifests.Object) bool { return true },
			bare:    true,
		}
	case dir == plan.ManifestsDir && r.Plan.StaticPods(m):
		return &pipeline{
			run: func(watch assembly.Watch) error {
				_, err := r.StaticPods(m, watch)
				return err
			},
			matches: func(o manifests.Object) bool {
				return plan.ManifestPath(o.Name) == file
			},
		}
	case dir == plan.APIServerDir && m.ControlPlane():
		return &pipeline{
			run: func(watch assembly.Watch) error {
				_, err := r.APIServerSettings(m, watch)
				return err
			},
			matches: func(o manifests.Object) bool {
				return manifests.APIServerPath(o.Kind) == file
			},
			bare: true,
		}
	case dir+"/" == plan.ObjectsDir && m.ControlPlane():
		i := 0
		for i < len(r.Objects) && r.ObjectFile(i) != path.Base(file) {
			i++
		}
		if i == len(r.Objects) {
			return nil
		}
		return &pipeline{
			run: func(watch assembly.Watch) error {
				_, problems := r.ObjectStream(map[string]int{}, watch)
				if len(problems) > 0 {
					return problems
				}
				return nil
			},
			matches: func(o manifests.Object) bool { return o.Is(r.Objects[i]) },
		}
	}
	return nil
}

type stage struct {
	source   func(yamltext.Path) config.Place // where the stage takes the value at a path from
	text     func() []byte                    // the document in YAML
	doc      func() yamltext.Document         // text, parsed
	exists   bool                             // the stream holds the document after this stage
	fromPipe bool                             // it is a stage of a pipeline, not a file as a whole
}

type version struct {
	from    plan.Origin
	objects []*kept
}

// versions runs a pipeline and returns the objects of its stream after each stage.
func (p *pipeline) versions() (all []version, err error) {
	var unreadable error
	var keeper keeper
	err = p.run(func(from plan.Origin, stream []byte) {
		objects, err := keeper.keep(stream)
		all, unreadable = append(all, version{from, objects}), errors.Join(unreadable, err)
	})
	return all, errors.Join(err, unreadable)
}

type runs struct {
	mu   sync.Mutex
	made map[[2]string][]version // by the machine and the folder of the file
}

// versions returns the versions of a pipeline that makes a file of m.
func (r *runs) versions(m *plan.Machine, file string, p *pipeline) ([]version, error) {
	is := [2]string{m.Name, path.Dir(file)}
	switch {
	case file == plan.KubeletConfig:
		is[1] = file
	case is[1]+"/" == plan.ObjectsDir:
		is[0] = "" // all control planes have the same objects
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.made[is]; ok {
		return known, nil
	}
	all, err := p.versions()
	if err == nil {
		r.made[is] = all
	}
	return all, err
}

// history makes the document of a file once more and returns its stages. A document without a
// pipeline has one stage. A file that is not exactly one YAML or JSON map has none.
func (r *Explainer) history(m *plan.Machine, f *node.File) ([]stage, error) {
	if p := r.pipeline(m, f.Path); p != nil {
		versions, err := r.runs.versions(m, f.Path, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		stages, err := r.stages(p, versions)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if last := len(stages) - 1; last >= 0 && stages[last].exists {
			return stages, nil
		}
	}
	docs := yamltext.Documents(f.Content)
	if len(docs) != 1 || !docs[0].IsMap() {
		return nil, nil
	}
	source := func(p yamltext.Path) config.Place {
		line, column, _ := docs[0].Position(p)
		return r.lineSource(f, line, column)
	}
	text := func() []byte { return f.Content }
	doc := func() yamltext.Document { return docs[0] }
	return []stage{{source: source, text: text, doc: doc, exists: true}}, nil
}

// stages returns the document in each version of its stream that changed it.
func (r *Explainer) stages(p *pipeline, versions []version) (out []stage, err error) {
	var before []byte
	for _, v := range versions {
		next := stage{fromPipe: true, source: func(yamltext.Path) config.Place {
			return config.Place{By: v.from.By, Field: v.from.Field}
		}}
		var text []byte
		i := slices.IndexFunc(v.objects, func(k *kept) bool { return p.matches(k.Object) })
		if i >= 0 {
			o := v.objects[i].object
			next.text, next.exists = func() []byte { return o().YAML }, true
			if p.bare {
				bare, err := manifests.WithoutMetadata(o().YAML)
				if err != nil {
					return nil, err
				}
				next.text = func() []byte { return bare }
			}
			next.doc = func() yamltext.Document { return yamltext.Documents(next.text())[0] }
			next.source = func(at yamltext.Path) config.Place {
				full := o()
				full.YAML = next.text()
				return r.stageSource(v.from, full, at)
			}
			text = next.text()
		}
		if len(out) == 0 || !bytes.Equal(text, before) {
			out = append(out, next)
		}
		before = text
	}
	return out, nil
}
