package kinds

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// walk goes through one document and collects what is wrong.
type walk struct {
	mistakes
	table *table
	minor int
	types bool // whether names and types are checked, and no values

	plain    string // the field of the kind for what is not in base64
	patterns patterns
}

// value checks that a value has a type. As in Go's decoder, null fits every type.
func (w *walk) value(v any, typ string, at *yamltext.Location) {
	if v == nil || w.full() {
		return
	}
	if element, ok := strings.CutPrefix(typ, "[]"); ok {
		list, ok := v.([]any)
		if !ok {
			w.add(at, "want a list, got %s", nameOf(v))
			return
		}
		for i, e := range list {
			w.value(e, element, at.Index(i))
		}
		return
	}
	if element, ok := strings.CutPrefix(typ, "map:"); ok {
		m, ok := v.(map[string]any)
		if !ok {
			w.add(at, "want a map, got %s", nameOf(v))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			w.value(m[key], element, at.Key(key))
		}
		return
	}
	if !hasFields(typ) {
		if message := scalar(v, typ); message != "" {
			if typ == "bytes" && w.plain != "" {
				message += "; write plain text under " + w.plain
			}
			w.add(at, "%s", message)
		}
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		w.add(at, "want a map, got %s", nameOf(v))
		return
	}
	w.structure(m, typ, at)
}

// hasFields reports whether a type is a Go struct, maybe an empty one.
func hasFields(typ string) bool { return strings.Contains(typ, ".") }

// structure checks the fields of a map by the tables of fields and of rules.
func (w *walk) structure(m map[string]any, typ string, at *yamltext.Location) {
	wrong := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		t := w.table.field(typ, key, w.minor)
		if t == "" {
			w.add(at.Key(key), "%s", w.unknownField(typ, key))
			if w.full() {
				return
			}
			continue
		}
		before := len(w.found)
		w.value(m[key], t, at.Key(key))
		if rule := rules[typ+" "+key]; rule.Check != nil && !w.types && len(w.found) == before {
			w.apply(rule, m[key], at.Key(key))
		}
		wrong[key] = len(w.found) > before
	}
	for _, name := range required[typ] {
		if !w.types && isEmpty(m[name]) && !wrong[name] {
			w.add(at, "%s is missing", name)
		}
	}
}

// apply checks a value by a rule. The value has the type of its field.
func (w *walk) apply(rule Rule, v any, at *yamltext.Location) {
	if isEmpty(v) && !rule.Zero {
		return // the program sets its default
	}
	if message := rule.Check(v); message != "" {
		w.add(at, "%s", message)
	}
}

// unknownField returns the message about a key that is no field of a type in this minor.
func (w *walk) unknownField(typ, key string) string {
	_, name, _ := strings.Cut(typ, ".")
	if rows := w.table.types[typ][key]; len(rows) > 0 {
		var minors []string
		for _, r := range rows {
			for _, m := range r.minors {
				minors = append(minors, fmt.Sprintf("1.%d", m))
			}
		}
		return fmt.Sprintf("%s has this field in Kubernetes %s, not in 1.%d", name,
			strings.Join(minors, ", "), w.minor)
	}
	names := w.table.names(typ, w.minor)
	hint := wording.Hint(key, names)
	if hint == "" && len(names) <= maxListed {
		hint = "; it has " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s has no such field%s", name, hint)
}

// maxListed is how many names a message lists.
const maxListed = 12

// isEmpty reports whether a value is the zero value of its type, which Go's encoder leaves out.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// serversOwn are the fields of metadata that the API server writes. With the first three it refuses
// a new object; an object whose owner is not there is deleted.
var serversOwn = []string{"resourceVersion", "uid", "managedFields", "ownerReferences"}

// controllerUID is batch.ControllerUidLabel, whose package makes the program 300 kB larger.
const controllerUID = "batch.kubernetes.io/controller-uid"

// remains are fields with which an object belongs to others of the cluster that it was read from,
// by kind: a volume stays Released, a token is deleted, a Job and the mirror of a static pod are
// refused (k8s.io/kubernetes 1.36.3, pkg/controller: syncVolume, syncSecret; pkg/apis/batch/
// validation: validateGeneratedSelector; plugin/pkg/admission/noderestriction: admitPodCreate).
var remains = map[string][][]string{
	"Pod":              {{"metadata", "annotations", core.MirrorPodAnnotationKey}},
	"PersistentVolume": {{"spec", "claimRef", "uid"}, {"spec", "claimRef", "resourceVersion"}},
	"Secret":           {{"metadata", "annotations", core.ServiceAccountUIDKey}},
	"Job": {
		{"spec", "selector", "matchLabels", controllerUID},
		{"spec", "selector", "matchLabels", "controller-uid"},
		{"spec", "template", "metadata", "labels", controllerUID},
		{"spec", "template", "metadata", "labels", "controller-uid"},
	},
}

// hookAnnotation is where a chart says when Helm applies an object.
const hookAnnotation = "helm.sh/hook"

// serverFields reports an object that was read from a cluster with what its API server had written,
// and one that Helm applies only when it removes, changes or tests something.
func (w *walk) serverFields(o map[string]any, root *yamltext.Location) {
	metadata, _ := o["metadata"].(map[string]any)
	at := root.Key("metadata")
	for _, name := range serversOwn {
		if value := metadata[name]; value != nil && !isEmpty(value) {
			w.add(at.Key(name), "is the API server's own, of the cluster that this object was "+
				"read from; remove it")
		}
	}
	spec, _ := o["spec"].(map[string]any)
	name, _ := o["kind"].(string)
	for _, keys := range remains[name] {
		value, at := any(o), root
		for _, key := range keys {
			m, _ := value.(map[string]any)
			value, at = m[key], at.Key(key)
		}
		if value != nil && !isEmpty(value) && spec["manualSelector"] != true {
			w.add(at, "is of the cluster that this object was read from; remove it")
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	hooks, _ := annotations[hookAnnotation].(string)
	installs := hooks == "" || strings.Contains(hooks, "install")
	if !installs {
		w.add(at.Key("annotations").Key(hookAnnotation), "Helm applies this object for %s alone, "+
			"and kiln would with the first boot; remove the object", Show(hooks))
	}
}
