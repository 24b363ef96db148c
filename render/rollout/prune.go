package rollout

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kiln/render/change"
	"kiln/render/plan"
)

// The names of files with the Secrets of pools' bootstrap tokens begin like this, without their
// number, and go on with the name of the pool: its token in force, and the one before.
const (
	poolToken     = "secret-" + plan.PoolTokenFile
	previousToken = "secret-" + plan.PreviousTokenFile
)

// deletions returns the commands that delete the API objects which the newer state no longer has,
// those with the highest numbers first: they were applied last. The earlier states are the
// inventory: kiln deletes only objects that it rendered and that a named state has.
func deletions(earlier []*change.Cluster, now *change.Cluster) (how []string) {
	kept := objectsOf(now)
	gone := map[string]object{}
	for _, c := range earlier {
		for id, o := range objectsOf(c) {
			// The Secret of a previous token ends by itself.
			if _, stays := kept[id]; !stays && !strings.HasPrefix(o.name, previousToken) {
				gone[id] = o
			}
		}
	}
	list := slices.SortedFunc(maps.Values(gone), func(a, b object) int {
		return cmp.Or(strings.Compare(b.file, a.file), strings.Compare(b.deletion(), a.deletion()))
	})
	for _, o := range list {
		how = append(how, o.deletion())
	}
	return how
}

// object is an API object of a state.
type object struct {
	file    string // the name of its file, with its number
	name    string // the same without the number
	content []byte // nil for a Secret
	identity
}

// identity is what the content of an object says of it.
type identity struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
}

// objectsOf returns the API objects of a state by what each is. Control planes have the same ones,
// which are read once.
func objectsOf(c *change.Cluster) map[string]object {
	out := map[string]object{}
	known := map[string]*change.Entry{} // by the file
	for _, m := range c.Machines {
		for _, e := range m.Entries {
			name, ok := change.ObjectName(e.ID)
			if !ok || e.Kind != "file" {
				continue
			}
			if same := known[e.ID]; same != nil && bytes.Equal(same.Content, e.Content) {
				continue
			}
			known[e.ID] = e
			o := newObject(e, name)
			out[o.id()] = o
		}
	}
	return out
}

// word is a part of an object's identity that no shell and no kubectl takes for something else.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._-]*$`)

// newObject returns the object of a file. A state does not show the content of a Secret, and that
// of another one may be strange: then the file's name is all that is known.
func newObject(e *change.Entry, name string) object {
	o := object{file: path.Base(e.ID), name: name, content: e.Content}
	if err := yaml.Unmarshal(e.Content, &o.identity); err != nil {
		o.identity = identity{}
	}
	words := []string{o.Kind, o.Metadata.Name}
	if o.Metadata.Namespace != "" {
		words = append(words, o.Metadata.Namespace)
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if gv.Group != "" {
		words = append(words, gv.Group+gv.Version)
	}
	strange := func(s string) bool { return !word.MatchString(s) }
	if err != nil || slices.ContainsFunc(words, strange) {
		o.identity = identity{}
	}
	return o
}

// id is equal for the same object of two states.
func (o *object) id() string {
	if o.Kind == "" {
		return o.name
	}
	return strings.Join([]string{o.groupVersion().Group, o.Kind, o.Metadata.Namespace,
		o.Metadata.Name}, "/")
}

func (o *object) groupVersion() schema.GroupVersion {
	gv, _ := schema.ParseGroupVersion(o.APIVersion)
	return gv
}

// kubectl returns a command of kubectl for the namespace of the object.
func (o *object) kubectl(words ...string) string {
	if o.Metadata.Namespace != "" {
		words = append([]string{"-n", o.Metadata.Namespace}, words...)
	}
	return "kubectl " + strings.Join(words, " ")
}

// deletion returns the command that deletes the object. A person writes it if not enough is known.
func (o *object) deletion() string {
	if o.Kind == "" {
		return "by hand, with kubectl delete: " + o.file + ", which is no longer rendered"
	}
	kind := strings.ToLower(o.Kind)
	if gv := o.groupVersion(); gv.Group != "" {
		kind += "." + gv.Version + "." + gv.Group
	}
	command := o.kubectl("delete", "--ignore-not-found", kind, o.Metadata.Name)
	switch o.Kind {
	case "Namespace":
		command += "  # with everything in it"
	case "CustomResourceDefinition":
		command += "  # with all objects of this kind"
	}
	return command
}

// rollout returns the command that waits until the pods of the object are those that it now asks
// for. It is empty for objects without pods, and for those whose pods somebody deletes by hand.
func (o *object) rollout() string {
	kinds := []string{"DaemonSet", "Deployment", "StatefulSet"}
	if o.groupVersion().Group != "apps" || !slices.Contains(kinds, o.Kind) {
		return ""
	}
	var says struct {
		Spec struct{ UpdateStrategy struct{ Type string } }
	}
	if yaml.Unmarshal(o.content, &says) != nil || says.Spec.UpdateStrategy.Type == "OnDelete" {
		return ""
	}
	return o.kubectl("rollout", "status", strings.ToLower(o.Kind), o.Metadata.Name)
}
