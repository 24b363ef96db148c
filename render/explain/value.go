package explain

import (
	"path"
	"reflect"
	"slices"

	"kiln/render/assembly"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/suggest"
	"kiln/render/yamlpath"
)

// valueAt returns the value at a key of a document, and which stages changed it.
func valueAt(f *node.File, key string, stages []stage) (*config.Setting, error) {
	var p yamlpath.Path
	var unknown *suggest.Unknown
	for _, s := range slices.Backward(stages) {
		if !s.there {
			continue
		}
		// What the last stage does not have may have been taken away.
		found, err := s.doc.Path(key)
		if unknown == nil {
			unknown = err
		}
		if p = found; p != nil {
			break
		}
	}
	if p == nil {
		return nil, &suggest.Unknown{Message: f.Path + ": " + unknown.Message}
	}
	s := &config.Setting{Path: key}
	var before any
	was := false
	for _, stage := range stages {
		var value any
		ok := false
		if stage.there {
			value, ok = stage.doc.Value(p)
		}
		if ok != was || !reflect.DeepEqual(value, before) {
			given := config.Given{Value: value, Absent: !ok, Place: stage.by(p)}
			if last := len(s.Given) - 1; last >= 0 && s.Given[last].Place == given.Place {
				s.Given = s.Given[:last] // who changes it twice is told once
			}
			s.Given = append(s.Given, given)
		}
		before, was = value, ok
	}
	slices.Reverse(s.Given)
	return s, nil
}

// madeFrom returns who had a say in a file, in their order: those behind the stages that changed the document, or behind the file as a whole.
// What has its default is left out.
func (r explainer) madeFrom(f *node.File, stages []stage) []config.Place {
	if len(stages) == 0 || !stages[0].piped {
		return r.sources(f)
	}
	var out []config.Place
	var before any
	for _, s := range stages {
		var value any
		if s.there {
			value, _ = s.doc.Value(nil)
		}
		if !reflect.DeepEqual(value, before) {
			if p := s.by(nil); !p.IsDefault() && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		before = value
	}
	return out
}

// Values returns a function that explains the values in the files of m as explain does, but runs each
// pipeline once. It returns nil for a file that goes through none.
func Values(c *assembly.Cluster, m *plan.Machine) func(f *node.File) (func(key string) (*config.Setting, error), error) {
	r := explainer{c}
	ran := map[string][]version{}
	return func(f *node.File) (func(key string) (*config.Setting, error), error) {
		p := r.pipeline(m, f.Path)
		if p == nil {
			return nil, nil
		}
		dir := path.Dir(f.Path)
		if ran[dir] == nil {
			var err error
			if ran[dir], err = p.versions(); err != nil {
				return nil, err
			}
		}
		stages, err := r.stages(p, ran[dir])
		return func(key string) (*config.Setting, error) { return valueAt(f, key, stages) }, err
	}
}
