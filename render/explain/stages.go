package explain

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"kiln/manifests"
	"kiln/render/assembly"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/yamlpath"
)

// pipeline is how a document is made: a run that can be watched, and which object of its streams the document is.
type pipeline struct {
	run  func(assembly.Watch) error
	is   func(manifests.Object) bool
	bare bool // the object is written without metadata
}

// pipeline returns how the document at a path is made on m, nil if it goes through no patches.
func (r explainer) pipeline(m *plan.Machine, file string) *pipeline {
	switch dir := path.Dir(file); {
	case file == plan.KubeletConfig:
		return &pipeline{
			run:  func(seen assembly.Watch) error { _, err := r.KubeletConfig(m, seen); return err },
			is:   func(manifests.Object) bool { return true },
			bare: true,
		}
	case dir == plan.ManifestsDir && r.Plan.StaticPods(m):
		return &pipeline{
			run: func(seen assembly.Watch) error { _, err := r.StaticPods(m, seen); return err },
			is:  func(o manifests.Object) bool { return manifests.ManifestPath(o.Name) == file },
		}
	case dir == plan.APIServerDir && m.ControlPlane():
		return &pipeline{
			run:  func(seen assembly.Watch) error { _, err := r.APIServerSettings(m, seen); return err },
			is:   func(o manifests.Object) bool { return manifests.APIServerPath(o.Kind) == file },
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
			run: func(seen assembly.Watch) error {
				if _, problems := r.ObjectStream(map[string]int{}, seen); len(problems) > 0 {
					return problems
				}
				return nil
			},
			is: func(o manifests.Object) bool { return o.Path == r.Objects[i].Path },
		}
	}
	return nil
}

// stage is a document when somebody has had a say in it.
type stage struct {
	by    func(yamlpath.Path) config.Place // who that is, and where it is written what the value at a path is to be
	doc   yamlpath.Document
	there bool // there was a document yet
	piped bool // it is one of the stages that a document with patches goes through
}

// version is what a stream holds when somebody has had a say in it.
type version struct {
	from    plan.Origin
	objects []manifests.Object
}

// versions runs a pipeline and keeps what its streams hold after each stage.
func (p *pipeline) versions() (list []version, err error) {
	var failed error
	err = p.run(func(from plan.Origin, stream []byte) {
		objects, err := manifests.Read(stream)
		list, failed = append(list, version{from, objects}), errors.Join(failed, err)
	})
	return list, errors.Join(err, failed)
}

// history makes the document of a file once more and returns its stages. A document that goes through no patches has one; what is no
// document has none.
func (r explainer) history(m *plan.Machine, f *node.File) ([]stage, error) {
	if p := r.pipeline(m, f.Path); p != nil {
		versions, err := p.versions()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		stages, err := r.stages(p, versions)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if last := len(stages) - 1; last >= 0 && stages[last].there {
			return stages, nil
		}
	}
	docs := yamlpath.Documents(f.Content)
	if len(docs) != 1 || !docs[0].IsMap() {
		return nil, nil
	}
	by := func(p yamlpath.Path) config.Place {
		line, column, _ := docs[0].Position(p)
		return r.sourceOf(f, line, column)
	}
	return []stage{{by: by, doc: docs[0], there: true}}, nil
}

// stages picks the document of a pipeline from what its streams held.
func (r explainer) stages(p *pipeline, versions []version) ([]stage, error) {
	out := make([]stage, len(versions))
	for n, v := range versions {
		out[n] = stage{by: func(yamlpath.Path) config.Place { return config.Place{By: v.from.By, Field: v.from.Field} }, piped: true}
		i := slices.IndexFunc(v.objects, p.is)
		if i < 0 {
			continue
		}
		o := v.objects[i]
		if p.bare {
			var err error
			if o.YAML, err = manifests.WithoutMetadata(o.YAML); err != nil {
				return nil, err
			}
		}
		out[n].doc, out[n].there = yamlpath.Documents(o.YAML)[0], true
		out[n].by = func(at yamlpath.Path) config.Place { return r.place(v.from, o, at) }
	}
	return out, nil
}
