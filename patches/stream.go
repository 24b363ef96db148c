package patches

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// Stream is a stream of objects to which patches are applied one after another. It gives what a run
// of kustomize for each patch gives, and reads and writes each object once, not for each patch.
type Stream struct {
	entries []entry
	bytes   int // of the patches so far, counted for each object that they change
	merged  int // objects that they change, counted for each patch
	work    int // what that takes kustomize, see workOf
}

type entry struct {
	res   *resource.Resource
	is    object
	text  []byte // nil if the object has changed since it was written
	still Still  // values that a merge leaves as they are unless it names them
}

// Effect is what a patch does to a stream.
type Effect struct{ Matched, Changed bool }

var factory = provider.NewDefaultDepProvider().GetResourceFactory()

// Read reads a stream, without what kustomize leaves out: empty documents, objects for itself.
func Read(stream []byte) (*Stream, error) {
	s := &Stream{}
	err := locked(func() error {
		resources, err := factory.SliceFromBytes(stream)
		for _, res := range resources {
			if err == nil && hasInternals(res) {
				err = fmt.Errorf("%s %s: %s", res.GetKind(), res.GetName(), internalsMessage)
			}
			writeNulls(res.YNode())
			if !isLocal(res) {
				s.entries = append(s.entries, entry{res: res, is: objectOf(res)})
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read objects: %s", reason(err))
	}
	return s, nil
}

// objectOf returns what a patch selects an object by.
func objectOf(res *resource.Resource) (o object) {
	o.APIVersion, o.Kind = res.GetApiVersion(), res.GetKind()
	o.Metadata.Name, o.Metadata.Namespace = res.GetName(), res.GetNamespace()
	o.Metadata.Labels = res.GetLabels()
	return o
}

// Bytes returns the stream as kustomize writes it.
func (s *Stream) Bytes() ([]byte, error) {
	return s.bytesOf(s.all())
}

// bytesOf returns the objects with these numbers as Bytes does.
func (s *Stream) bytesOf(numbers []int) ([]byte, error) {
	var texts [][]byte
	for _, i := range numbers {
		text, err := s.entries[i].bytes()
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return bytes.Join(texts, separator), nil
}

func (e *entry) bytes() (text []byte, err error) {
	if e.text == nil {
		e.text, err = marshalOne(e.res)
	}
	return e.text, err
}

// Apply applies a patch to the objects that it matches. An error names the patch, and leaves the
// objects as they were; see the function Apply.
func (s *Stream) Apply(p *Patch) (is Effect, err error) {
	var matched []int
	engine.Lock()
	for i := range s.entries {
		if p.matches(s.entries[i].is) {
			matched = append(matched, i)
		}
	}
	engine.Unlock()
	if len(matched) == 0 {
		return Effect{}, nil
	}
	if p.list && p.renames() { // kustomize renames what refers to them
		matched = s.all()
	}
	s.merged += len(matched)
	s.bytes += len(matched) * len(p.Text)
	work, longest := 0, 0
	var before []byte
	if p.list {
		if before, err = s.bytesOf(matched); err != nil {
			return Effect{}, fmt.Errorf("apply patch %s: %w", p.Name, err)
		}
		work = len(before) * 2 / 3 // kustomize reads and writes the whole object
	}
	err = locked(func() error { // workOf asks what kustomize knows of kinds
		err := p.parse()
		for _, i := range matched {
			one, list := p.workOf(&s.entries[i])
			work += one
			longest = max(longest, list)
		}
		return err
	})
	if err != nil {
		return Effect{}, fmt.Errorf("apply patch %s: %s", p.Name, reason(err))
	}
	s.work += work
	single := len(matched) == 1 && s.work == work // the only patch, of one large object
	switch {
	case s.work > maxWork*map[bool]int{true: 3, false: 1}[single]:
		return Effect{}, &TooMuch{fmt.Sprintf("apply patch %s: the patches up to this one are "+
			"more than kustomize can apply in a second (%d objects, counted for each patch; the "+
			"longest list here has %d elements); write one patch instead of several, a shorter "+
			"list, or fewer objects in their targets", p.Name, s.merged, longest)}
	case s.bytes > MaxAdded && len(matched) > 1:
		return Effect{}, &TooMuch{fmt.Sprintf("apply patch %s: the patches up to this one have "+
			"%d bytes, counted for each object that they change; at most 1 MiB (%d) may be added "+
			"to the objects; name fewer objects in their targets", p.Name, s.bytes, MaxAdded)}
	case p.list:
		return s.operate(p, matched, before)
	}
	return s.merge(p, matched)
}

func (s *Stream) all() (numbers []int) {
	for i := range s.entries {
		numbers = append(numbers, i)
	}
	return numbers
}

// renames reports whether operations may change what identifies an object.
func (p *Patch) renames() bool {
	var ops []operation
	if yaml.Unmarshal([]byte(p.Text), &ops) != nil {
		return true
	}
	return slices.ContainsFunc(ops, func(op operation) bool {
		return slices.Contains(identity, op.Path) ||
			op.Op == "move" && slices.Contains(identity, op.From)
	})
}

// identity are the pointers to the fields that identify an object, and to what holds them.
var identity = []string{
	"", "/apiVersion", "/kind", "/metadata", "/metadata/name", "/metadata/namespace",
}

// operate applies operations to the objects with these numbers, whose text is before.
func (s *Stream) operate(p *Patch, matched []int, before []byte) (Effect, error) {
	text, err := Apply(before, p)
	if err != nil {
		return Effect{}, err
	}
	after, err := Read(text)
	if err != nil {
		return Effect{}, fmt.Errorf("apply patch %s: %w", p.Name, err)
	}
	if len(after.entries) != len(yamltext.Split(text)) {
		return Effect{}, fmt.Errorf("apply patch %s: an operation makes a list of an object; "+
			"lists cannot be applied", p.Name)
	}
	if len(after.entries) < len(matched) && len(matched) < len(s.entries) {
		// kustomize leaves out an object, and does not say which
		if before, err = s.Bytes(); err != nil {
			return Effect{}, fmt.Errorf("apply patch %s: %w", p.Name, err)
		}
		return s.operate(p, s.all(), before)
	}
	if len(matched) == len(s.entries) {
		s.entries = after.entries
	} else {
		for n, i := range matched {
			s.entries[i] = after.entries[n]
		}
	}
	return Effect{Matched: true, Changed: !bytes.Equal(before, text)}, nil
}

// merge applies a strategic merge to the objects with these numbers.
func (s *Stream) merge(p *Patch, matched []int) (Effect, error) {
	is := Effect{Matched: true}
	if err := locked(func() error { return s.hasAll(p) }); err != nil {
		return Effect{}, fmt.Errorf("apply patch %s: %s", p.Name, reason(err))
	}
	next := slices.Clone(s.entries)
	for _, i := range matched {
		var after *entry
		var verdict Verdict
		e := &next[i]
		err := locked(func() (err error) {
			after, verdict, err = p.mergeInto(e)
			return err
		})
		if err != nil {
			return Effect{}, fmt.Errorf("apply patch %s: %s", p.Name, reason(err))
		}
		is.Changed = is.Changed || verdict == Different
		if verdict == Unclear && !is.Changed {
			before, unwritten := e.bytes()
			text, err := after.bytes()
			if err = cmp.Or(unwritten, err); err != nil {
				return Effect{}, fmt.Errorf("apply patch %s: %w", p.Name, err)
			}
			is.Changed = !bytes.Equal(before, text)
		}
		*e = *after
	}
	s.entries = slices.DeleteFunc(next, func(e entry) bool { return e.res == nil })
	return is, nil
}

// parse parses a strategic merge, and measures it. The caller holds engine.
func (p *Patch) parse() (err error) {
	if p.parsed != nil || p.list {
		return nil
	}
	parsed, err := factory.SliceFromBytes([]byte(p.merge))
	for i, one := range parsed {
		is, named := extentOf(one.YNode(), nil, true), FieldsOf(one.YNode())
		p.longest = max(p.longest, is.longest)
		if i > 0 {
			named = named.And(p.fields)
		}
		p.fields, p.unclear = named, p.unclear || is.kinds > 1
	}
	if p.unclear {
		p.fields = nil
	}
	if err == nil && p.selector != nil { // as kustomize does before it merges by a target
		err = parsed[0].CopyMergeMetaDataFieldsFrom(parsed[0])
	}
	if err == nil {
		p.parsed = parsed
	}
	asked := Fields{"name": nil, "namespace": nil} // by kustomize
	if p.selector == nil {
		asked["annotations"] = nil // it removes some
	}
	p.fields = p.fields.And(Fields{"apiVersion": nil, "kind": nil, "metadata": asked})
	return err
}

// hasAll fails, as kustomize does, if objects that a merge names are not there. It needs engine.
func (s *Stream) hasAll(p *Patch) error {
	for _, one := range p.parsed {
		id := one.OrgId()
		if p.selector == nil && !slices.ContainsFunc(s.entries, func(e entry) bool {
			return e.res.CurId().Equals(id)
		}) {
			return fmt.Errorf("no resource matches strategic merge patch %q", id)
		}
	}
	return nil
}

// mergeInto returns what an object becomes by a strategic merge, without text, and whether it is
// another. Its resource is nil if the patch deletes it. The caller holds engine.
func (p *Patch) mergeInto(e *entry) (*entry, Verdict, error) {
	reduced, rest := p.divide(e)
	if excess := yamltext.Resource.Node(reduced); excess != nil {
		return nil, Same, fmt.Errorf("%s %s: %s", e.is.Kind, e.is.Metadata.Name,
			excess.Message)
	}
	root := e.res.YNode()
	all := root.Content
	root.Content = reduced.Content
	res := e.res.DeepCopy()
	root.Content = all
	if err := p.applyTo(res); err != nil {
		return nil, Same, err
	}
	if res.IsNilOrEmpty() {
		return &entry{}, Different, nil
	}
	merged := res.YNode()
	is := Compare(reduced, merged)
	if e.still == nil {
		e.still = Still{}
	}
	if p.fields != nil && schemaOf(e) != nil {
		p.fields.Note(reduced, merged, e.still)
	}
	if !rest.PutBack(merged) {
		e.still = nil
		return p.mergeInto(e)
	}
	if isLocal(res) {
		return &entry{}, Different, nil
	}
	return &entry{res: res, is: objectOf(res), still: e.still}, is, nil
}

// divide returns the part of an object that kustomize gets, and the rest. The caller holds engine.
func (p *Patch) divide(e *entry) (reduced *yamlv3.Node, left Rest) {
	if p.list || p.fields == nil {
		return e.res.YNode(), Rest{}
	}
	return p.fields.Divide(e.res.YNode(), e.still)
}

// applyTo applies a strategic merge to an object that it matches, as PatchTransformer of kustomize
// and ApplySmPatch of api/resmap/reswrangler.go do (api v0.21.2). The object is empty afterwards if
// the patch deletes it. The caller holds engine.
func (p *Patch) applyTo(res *resource.Resource) error {
	if p.selector != nil {
		one := p.parsed[0].DeepCopy()
		kind := one.GetKind()
		one.SetGvk(res.GetGvk())
		one.SetKind(kind)
		return res.ApplySmPatch(one)
	}
	id := res.CurId()
	for _, one := range p.parsed {
		if !one.OrgId().Equals(id) {
			continue
		}
		if res.IsNilOrEmpty() { // a document before has deleted it
			return fmt.Errorf("no resource matches strategic merge patch %q", id)
		}
		if err := res.ApplySmPatch(one.DeepCopy()); err != nil {
			return err
		}
	}
	if res.IsNilOrEmpty() {
		return nil
	}
	res.RemoveBuildAnnotations()
	return nil
}

// maxWork is how much work the patches of one stream may be, in microseconds of a busy computer: a
// patch of four pods with a list of 400 elements, five patches of a thousand ConfigMaps, or some
// hundreds of patches of the pods of a control plane.
const maxWork = 1_500_000

// workOf returns about how long kustomize takes to merge p into an object, in microseconds, and the
// length of the longest list. kustomize walks through the whole object, save for lists that it
// replaces, and looks for each key of a map in the whole map. If it knows the kind of the object,
// it looks for each map of a list in the whole list. The caller holds engine.
func (p *Patch) workOf(e *entry) (work, longest int) {
	reduced, _ := p.divide(e)
	known := schemaOf(e)
	there := extentOf(reduced, known, p.list)
	unclear := p.unclear || there.kinds > 1
	if unclear {
		there = extentOf(reduced, known, true)
	}
	work, longest = 200+there.work+there.nodes/3, there.longest+p.longest
	if known != nil || unclear {
		work += 2 * (there.pairs + longest*longest - there.longest*there.longest)
	}
	return work + map[bool]int{true: 1000}[p.list], longest // a list: written and read again
}

// schemaOf returns what kustomize knows of an object's kind. The caller holds engine.
func schemaOf(e *entry) *openapi.ResourceSchema {
	kind := kyaml.TypeMeta{APIVersion: e.is.APIVersion, Kind: e.is.Kind}
	return openapi.SchemaForResourceType(kind)
}

// TooMuch is why a patch is refused that costs too much with those before it, and all behind it.
type TooMuch struct{ Message string }

// Error returns the message.
func (e *TooMuch) Error() string { return e.Message }
