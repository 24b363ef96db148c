package explain

import (
	"reflect"
	"slices"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// valueAt returns the value at a key of a document, with the stages that changed it, the last one
// first. It fails with a *wording.Unknown if no stage has a value there.
func valueAt(f *node.File, key string, stages []stage) (*config.Setting, error) {
	p, err := pathOf(f, key, stages)
	if err != nil {
		return nil, err
	}
	s := &config.Setting{Path: key}
	var before any
	existed := false
	for _, stage := range stages {
		var value any
		exists := false
		if stage.exists {
			value, exists = stage.doc().Value(p)
		}
		if exists != existed || !reflect.DeepEqual(value, before) {
			given := config.Given{Value: value, Absent: !exists, Place: stage.source(p)}
			if last := len(s.Given) - 1; last >= 0 && s.Given[last].Place == given.Place {
				s.Given = s.Given[:last] // a source that changes the value twice is listed once
			}
			s.Given = append(s.Given, given)
		}
		before, existed = value, exists
	}
	slices.Reverse(s.Given)
	return s, nil
}

// pathOf returns a key's path in the last stage with a value there, or the *wording.Unknown of the
// last stage.
func pathOf(f *node.File, key string, stages []stage) (yamltext.Path, error) {
	var unknown *wording.Unknown
	for _, s := range slices.Backward(stages) {
		if !s.exists {
			continue
		}
		p, err := s.doc().Path(key)
		if p != nil {
			return p, nil
		}
		if unknown == nil {
			unknown = err
		}
	}
	return nil, &wording.Unknown{Message: f.Path + ": " + unknown.Message}
}

// madeFrom returns the sources of a file in the order in which they apply: those of the stages that
// changed the document, without the defaults of fields, or those of a file without stages.
func (r *Explainer) madeFrom(f *node.File, stages []stage) []config.Place {
	if len(stages) == 0 || !stages[0].fromPipe {
		return r.fileSources(f)
	}
	var out []config.Place
	var before any
	for _, s := range stages {
		var value any
		if s.exists {
			value, _ = s.doc().Value(nil)
		}
		if !reflect.DeepEqual(value, before) {
			if p := s.source(nil); !p.IsDefault() && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		before = value
	}
	return out
}
