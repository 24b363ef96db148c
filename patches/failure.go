package patches

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	sigsyaml "sigs.k8s.io/yaml"
)

// Failure is why a patch cannot be applied to an object that it matches.
type Failure struct {
	Line, Column int // in the text of the patch; 0 is the patch as a whole
	Message      string
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// operation is one operation of JSON6902.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// failure returns the first operation of p that cannot be applied to an object of the stream, and
// what the object has instead. It returns nil if p is a strategic merge, or if none is found.
func (p *Patch) failure(stream []byte) *Failure {
	var raw []json.RawMessage
	text, err := sigsyaml.YAMLToJSON([]byte(p.Text))
	if err != nil || json.Unmarshal(text, &raw) != nil {
		return nil
	}
	for _, doc := range strings.Split("\n"+string(stream), "\n---") {
		var o object
		if sigsyaml.Unmarshal([]byte(doc), &o) != nil || o.Kind == "" || !p.matchesOne(o) {
			continue
		}
		value, err := sigsyaml.YAMLToJSON([]byte(doc))
		if err != nil {
			continue
		}
		for i, one := range raw {
			var op operation
			if json.Unmarshal(one, &op) != nil {
				return p.failed(i, "operation %d is not an operation of JSON6902", i+1)
			}
			if why := op.exposes(); o.Kind == secretKind && why != "" {
				return p.failed(i, "%s %s: %s", op.Op, op.Path, why)
			}
			// The library replaces a key that is not there, which RFC 6902 forbids (4.3).
			why := missing(value, op)
			if why == "" {
				if value, err = applyOne(value, one); err == nil {
					continue
				}
				why = err.Error()
			}
			return p.failed(i, "%s %s does not fit %s %s: %s", op.Op, op.Path, o.Kind,
				o.Metadata.Name, why)
		}
	}
	return nil
}

// applyOne applies one operation.
func applyOne(doc []byte, one json.RawMessage) ([]byte, error) {
	whole, err := json.Marshal([]json.RawMessage{one})
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(whole)
	if err != nil {
		return nil, err
	}
	return patch.Apply(doc)
}

// matchesOne is matches for a caller that does not hold engine.
func (p *Patch) matchesOne(o object) bool {
	engine.Lock()
	defer engine.Unlock()
	return p.matches(o)
}

// failed returns a failure at the i-th operation.
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

// missing returns which part of an operation's path an object does not have, and what it has there;
// "" if it has all.
func missing(doc []byte, op operation) string {
	pointer := op.Path
	if op.Op == "move" || op.Op == "copy" {
		pointer = op.From
	}
	var value any
	if json.Unmarshal(doc, &value) != nil {
		return ""
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if op.Op == "add" || op.Op == "test" {
		steps = steps[:len(steps)-1] // the last step may be absent
	}
	if pointer == "" || !strings.HasPrefix(pointer, "/") {
		return ""
	}
	at := ""
	for _, step := range steps {
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		var next any
		there := ""
		switch v := value.(type) {
		case map[string]any:
			found, ok := v[key]
			if ok {
				next = found
				break
			}
			var keys []string
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			there = "there are " + strings.Join(keys, ", ")
			if len(keys) == 0 {
				there = "it is empty"
			}
		case []any:
			n, err := strconv.Atoi(key)
			if err == nil && n >= 0 && n < len(v) {
				next = v[n]
				break
			}
			there = fmt.Sprintf("the list has %d elements, from 0 on", len(v))
		default:
			there = "it is a single value"
		}
		if there != "" {
			where := at
			if where == "" {
				where = "/"
			}
			return fmt.Sprintf("%s has no %q; %s", where, key, there)
		}
		value, at = next, at+"/"+step
	}
	return ""
}

// misses reports whether p would select an object in another namespace.
func (p *Patch) misses(o object) bool {
	if p.selector != nil {
		return p.selector.Namespace != "" && p.selector.Name == o.Metadata.Name &&
			p.selector.Kind == o.Kind && o.Metadata.Namespace != ""
	}
	return slices.ContainsFunc(p.named, func(n object) bool {
		return n.Kind == o.Kind && n.Metadata.Name == o.Metadata.Name &&
			n.Metadata.Namespace != o.Metadata.Namespace && o.Metadata.Namespace != ""
	})
}

// maxOffered is how many objects Offer lists.
const maxOffered = 20

// Offer says which objects of these streams a patch without a match could mean: those of the kind
// that it names or, if there are none, the kinds that there are.
func (p *Patch) Offer(streams [][]byte) string {
	kinds := map[string][]string{}
	for _, stream := range streams {
		for _, o := range objectsIn(stream) {
			if there := o.Metadata.Namespace; p.misses(o) {
				return fmt.Sprintf("%s %s is in namespace %s; write namespace: %s", o.Kind,
					o.Metadata.Name, there, there)
			}
			kinds[o.Kind] = append(kinds[o.Kind], o.Metadata.Name)
		}
	}
	all := slices.Sorted(maps.Keys(kinds))
	for _, kind := range all {
		if !p.Names(kind) {
			continue
		}
		names := kinds[kind]
		slices.Sort(names)
		names = slices.Compact(names)
		if more := len(names) - maxOffered; more > 0 {
			names = append(names[:maxOffered], fmt.Sprintf("and %d more", more))
		}
		return fmt.Sprintf("of kind %s there are %s", kind, strings.Join(names, ", "))
	}
	return "there are the kinds " + strings.Join(all, ", ")
}
