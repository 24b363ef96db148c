package patches

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// Failure is why a patch cannot be applied to an object that it matches.
type Failure struct {
	Line, Column int // in the text of the patch; 0 is the patch as a whole
	Message      string
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// failure returns the first operation of p that cannot be applied to an object of the stream, and
// what the object has instead. It returns nil if p is a strategic merge, or if none is found.
func (p *Patch) failure(stream []byte) *Failure {
	var raw []json.RawMessage
	text, err := sigsyaml.YAMLToJSON([]byte(p.Text))
	if err != nil || json.Unmarshal(text, &raw) != nil {
		return nil
	}
	ops := make([]operation, len(raw))
	for i, one := range raw {
		var given struct{ Value json.RawMessage }
		op := &ops[i]
		if json.Unmarshal(one, op) != nil || json.Unmarshal(one, &given) != nil ||
			given.Value == nil && (op.Op == "add" || op.Op == "replace") {
			return p.failed(i, "operation %d is not an operation of JSON6902, "+
				"or has no value", i+1)
		}
	}
	copied := 0
	for _, doc := range yamltext.Split(stream) {
		var o object
		if sigsyaml.Unmarshal(doc, &o) != nil || o.Kind == "" || !p.matchesOne(o) {
			continue
		}
		t := tree{copied: copied}
		if sigsyaml.Unmarshal(doc, &t.root) != nil {
			continue
		}
		for i, op := range ops {
			if why := op.exposes(); o.Kind == secretKind && why != "" {
				return p.failed(i, "%s %s: %s", op.Op, op.Path, why)
			}
			if why := t.apply(op); why != "" {
				return p.failed(i, "%s %s does not fit %s %s: %s", op.Op, op.Path, o.Kind,
					o.Metadata.Name, why)
			}
		}
		copied = t.copied
	}
	return nil
}

// matchesOne is matches for a caller that does not hold engine.
func (p *Patch) matchesOne(o object) bool {
	engine.Lock()
	defer engine.Unlock()
	return p.matches(o)
}

func (p *Patch) failed(i int, format string, args ...any) *Failure {
	f := &Failure{Message: fmt.Sprintf(format, args...)}
	var root yaml.Node
	if yaml.Unmarshal([]byte(p.Text), &root) == nil && len(root.Content) == 1 &&
		i < len(root.Content[0].Content) {
		at := root.Content[0].Content[i]
		f.Line, f.Column = at.Line, at.Column
	}
	return f
}

// Head names an object.
type Head struct{ Kind, Namespace, Name string }

// misses reports whether p would select an object in another namespace.
func (p *Patch) misses(o Head) bool {
	if p.selector != nil {
		return p.selector.Namespace != "" && p.selector.Name == o.Name &&
			p.selector.Kind == o.Kind && o.Namespace != ""
	}
	return slices.ContainsFunc(p.named, func(n object) bool {
		return n.Kind == o.Kind && n.Metadata.Name == o.Name &&
			n.Metadata.Namespace != o.Namespace && o.Namespace != ""
	})
}

// Offer says what a patch without a match could mean: objects of its kind, or the kinds there are.
func (p *Patch) Offer(objects []Head) string {
	kinds := map[string][]string{}
	for _, o := range objects {
		if p.misses(o) {
			return fmt.Sprintf("%s %s is in namespace %s; write namespace: %s", o.Kind, o.Name,
				o.Namespace, o.Namespace)
		}
		kinds[o.Kind] = append(kinds[o.Kind], o.Name)
	}
	all := slices.Sorted(maps.Keys(kinds))
	for _, kind := range all {
		if !p.Names(kind) {
			continue
		}
		names := kinds[kind]
		slices.Sort(names)
		return fmt.Sprintf("of kind %s there are %s", kind, offered(slices.Compact(names)))
	}
	return "there are the kinds " + offered(all)
}
