package render

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"kiln/manifests"
	"kiln/render/assembly"
	"kiln/render/config"
	"kiln/render/credential"
	"kiln/render/node"
	"kiln/render/plan"
)

// Explanation says what a file of a machine is, or where a value in it comes from.
type Explanation struct {
	Node   string         `json:"node"`
	Path   string         `json:"path"`
	Mode   string         `json:"mode"`
	Owner  string         `json:"owner"`
	Why    string         `json:"why"`
	Secret string         `json:"secret,omitempty"` // name and generation
	From   []config.Place `json:"from"`             // what the file is made from, in the order in which it counts

	// Value is the value that was asked for; nil if that was the file.
	Value *config.Setting `json:"value,omitempty"`
}

// String returns the explanation for people.
func (e *Explanation) String() string {
	if e.Value != nil {
		return e.Value.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n  mode %s, owner %s\n", e.Path, e.Why, e.Mode, e.Owner)
	if e.Secret != "" {
		fmt.Fprintf(&b, "  holds the secret %s\n", e.Secret)
	}
	for _, p := range e.From {
		fmt.Fprintf(&b, "  made from %s\n", p)
	}
	return b.String()
}

// Explain says what the file at a path is on a machine or, with a colon and a key behind the path, which stage of the rendering gave the
// value there. The document goes through its stages once more, and the value is compared between them. Of a secret nothing is told but name and
// generation. A *config.Unknown says that there is no such machine, file or key.
func (r *Cluster) Explain(machine, asked string) (*Explanation, error) {
	m, err := r.byName(machine)
	if err != nil {
		return nil, err
	}
	n, err := r.Machine(m)
	if err != nil {
		return nil, err
	}
	f, key, err := fileAt(n, asked)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Node: m.Name, Path: f.Path, Mode: fmt.Sprintf("%04o", f.Mode), Owner: node.Owner(f.User) + ":" + node.Owner(f.Group), Why: f.Why, Secret: f.Secret,
		From: []config.Place{},
	}
	stages, err := r.history(m, f)
	switch {
	case err != nil:
		return nil, err
	case key == "":
		e.From = r.madeFrom(f, stages)
		return e, nil
	case f.Secret != "":
		return nil, &config.Unknown{Message: fmt.Sprintf("%s holds the secret %s: no value of it is shown; leave the key out, and the file is explained", f.Path, f.Secret)}
	case credential.Holds(f.Content):
		return nil, &config.Unknown{Message: fmt.Sprintf("%s holds a credential: no value of it is shown; kiln validate says where it comes from", f.Path)}
	case len(stages) == 0 || len(f.Shown) > 0:
		return nil, &config.Unknown{Message: f.Path + " is not one document of YAML or JSON; leave the key out, and the file is explained"}
	}
	e.Value, err = valueAt(f, key, stages)
	return e, err
}

func (r *Cluster) byName(name string) (*plan.Machine, error) {
	var all []string
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Name == name {
			return m, nil
		}
		all = append(all, r.Plan.Machines[i].Name)
	}
	return nil, config.NoSuch(name, all, "there is no node or pool %q", name)
}

// fileAt returns the file that PATH or PATH:KEY names, and the key. Either may hold colons itself.
func fileAt(n *node.Node, asked string) (f *node.File, key string, err error) {
	for end := len(asked); end > 0; end = strings.LastIndexByte(asked[:end], ':') {
		if f := n.File(asked[:end]); f != nil {
			return f, strings.TrimPrefix(asked[end:], ":"), nil
		}
	}
	name, _, _ := strings.Cut(asked, ":")
	var all, same []string
	for i := range n.Files {
		file := n.Files[i].Path
		all = append(all, file)
		if base := path.Base(name); path.Base(file) == base || strings.HasSuffix(file, "-"+base) {
			same = append(same, file)
		}
	}
	if len(same) > 0 {
		all = same
	}
	return nil, "", config.NoSuch(name, all, "there is no file %s on %s", name, n.Name)
}

// pipeline is how a document is made: a run that can be watched, and which object of its streams the document is.
type pipeline struct {
	run  func(assembly.Watch) error
	is   func(manifests.Object) bool
	bare bool // the object is written without metadata
}

// pipeline returns how the document at a path is made on m, nil if it goes through no patches.
func (r *Cluster) pipeline(m *plan.Machine, file string) *pipeline {
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
	by    func(config.Path) config.Place // who that is, and where it is written what the value at a path is to be
	doc   config.Document
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
func (r *Cluster) history(m *plan.Machine, f *node.File) ([]stage, error) {
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
	docs := config.Documents(f.Content)
	if len(docs) != 1 || !docs[0].Mapping() {
		return nil, nil
	}
	by := func(p config.Path) config.Place {
		line, column, _ := docs[0].Position(p)
		return r.sourceOf(f, line, column)
	}
	return []stage{{by: by, doc: docs[0], there: true}}, nil
}

// stages picks the document of a pipeline from what its streams held.
func (r *Cluster) stages(p *pipeline, versions []version) ([]stage, error) {
	out := make([]stage, len(versions))
	for n, v := range versions {
		out[n] = stage{by: func(config.Path) config.Place { return config.Place{By: v.from.By, Field: v.from.Field} }, piped: true}
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
		out[n].doc, out[n].there = config.Documents(o.YAML)[0], true
		out[n].by = func(at config.Path) config.Place { return r.place(v.from, o, at) }
	}
	return out, nil
}

// valueAt returns the value at a key of a document, and which stages changed it.
func valueAt(f *node.File, key string, stages []stage) (*config.Setting, error) {
	var p config.Path
	var unknown *config.Unknown
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
		return nil, &config.Unknown{Message: f.Path + ": " + unknown.Message}
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
func (r *Cluster) madeFrom(f *node.File, stages []stage) []config.Place {
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
			if p := s.by(nil); p.Said() && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		before = value
	}
	return out
}

// Origin returns the places in the configuration that a file of a machine comes from, in the order in
// which they count; none if that cannot be found out.
func (r *Cluster) Origin(m *plan.Machine, f *node.File) []config.Place {
	stages, err := r.history(m, f)
	if err != nil {
		return nil
	}
	return r.madeFrom(f, stages)
}

// sources are the entries of the configuration that a file without stages is made from, and the file that its text comes from.
func (r *Cluster) sources(f *node.File) (out []config.Place) {
	c := r.Plan.Config
	for _, field := range f.From {
		if c.Has(field) {
			out = append(out, c.Place(field, "", nil))
		}
		if c.Has(field + ".contentFrom") {
			out = append(out, c.TextPlace(field, "content", "contentFrom", 0, 0))
		}
	}
	if len(out) == 0 {
		out = append(out, config.Place{By: plan.Kiln.By})
	}
	return out
}

// sourceOf is where a line of a file without stages is written, if that is in the user's text; of the files that kiln writes no more can be
// said of a single value.
func (r *Cluster) sourceOf(f *node.File, line, column int) config.Place {
	c := r.Plan.Config
	if len(f.From) == 1 && (c.Has(f.From[0]+".content") || c.Has(f.From[0]+".contentFrom")) {
		return c.TextPlace(f.From[0], "content", "contentFrom", line, column)
	}
	if f.Why == node.FromConfig {
		return r.sources(f)[0]
	}
	return config.Place{By: plan.Kiln.By}
}

// place is where it is written what the value at a path of an object is to be, as far as that can be told.
func (r *Cluster) place(from plan.Origin, o manifests.Object, p config.Path) config.Place {
	c := r.Plan.Config
	if from == plan.Base {
		file, text := manifests.File(o.Kind, o.Name)
		if file == "" {
			return config.Place{By: plan.Kiln.By}
		}
		line, column := inStream(text, o, p)
		return config.Place{File: file, Line: line, Column: column, By: from.By}
	}
	if patch, ok := r.PatchText(from.Field); ok {
		line, column := inPatch(patch, p)
		return c.TextPlace(from.Field, "patch", "patchFrom", line, column)
	}
	for i, a := range c.Spec.Addons {
		if assembly.AddonField(i) == from.Field && c.Folder(a.Path) == nil {
			line, column := inStream(c.Text(a.Path), o, p)
			return config.Place{File: a.Path, Line: line, Column: column, Field: from.Field}
		}
	}
	if from.Field == "" {
		return config.Place{By: from.By}
	}
	return c.Place(from.Field, from.By, p)
}

// inStream returns line and column of a value of an object in a stream of manifests, or of what is around it there.
func inStream(stream []byte, o manifests.Object, p config.Path) (line, column int) {
	for _, d := range config.Documents(stream) {
		if text(d, "kind") == o.Kind && text(d, "metadata.name") == o.Name {
			line, column, _ = d.Position(p)
		}
	}
	return line, column
}

// text returns the text at a path of a document, empty if there is none.
func text(d config.Document, path string) string {
	p, unknown := d.Path(path)
	if unknown != nil {
		return ""
	}
	value, _ := d.Value(p)
	s, _ := value.(string)
	return s
}

// inPatch returns line and column in a patch of what it says about the value at a path, or of what is around it; 0 of the patch as a whole.
func inPatch(patch string, p config.Path) (line, column int) {
	best := 0
	for _, d := range config.Documents([]byte(patch)) {
		if d.Mapping() {
			if l, c, steps := d.Position(p); steps > best {
				best, line, column = steps, l, c
			}
			continue
		}
		for i := 0; ; i++ {
			op, unknown := d.Path(fmt.Sprintf("[%d].path", i))
			if unknown != nil {
				break
			}
			value, _ := d.Value(op)
			pointer, _ := value.(string)
			if steps := leads(pointer, p.Keys()); steps > best {
				best = steps
				line, column, _ = d.Position(op)
			}
		}
	}
	return line, column
}

// leads returns how many steps a JSON pointer (RFC 6901) takes on the way that the keys of a path go, 0 if it leads elsewhere. An empty key is an
// element of a list, of which the pointer may tell any number.
func leads(pointer string, keys []string) int {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if len(steps) > len(keys) {
		return 0
	}
	for i, step := range steps {
		if keys[i] != "" && strings.NewReplacer("~1", "/", "~0", "~").Replace(step) != keys[i] {
			return 0
		}
	}
	return len(steps)
}
