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
		return cmp.Or(strings.Compare(b.file, a.file), strings.Compare(b.command, a.command))
	})
	for _, o := range list {
		how = append(how, o.command)
	}
	return how
}

// object is an API object of a state.
type object struct {
	file    string // the name of its file, with its number
	name    string // the same without the number
	content []byte // nil for a Secret
	command string // that deletes it
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
			id, command := deletion(e, name)
			out[id] = object{path.Base(e.ID), name, e.Content, command}
		}
	}
	return out
}

// word is a part of an object's identity that no shell and no kubectl takes for something else.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._-]*$`)

// deletion returns what an object is, and the command that deletes it. A state does not show the
// content of a Secret: then the file's name is all that is known, and a person writes the command.
func deletion(e *change.Entry, name string) (id, command string) {
	var is struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	err := yaml.Unmarshal(e.Content, &is)
	gv, err2 := schema.ParseGroupVersion(is.APIVersion)
	meta := is.Metadata
	if err != nil || err2 != nil ||
		!word.MatchString(is.Kind) || !word.MatchString(meta.Name) ||
		meta.Namespace != "" && !word.MatchString(meta.Namespace) ||
		gv.Group != "" && !word.MatchString(gv.Group+gv.Version) {
		return name, "by hand, with kubectl delete: " + path.Base(e.ID) +
			", which is no longer rendered"
	}
	kind := strings.ToLower(is.Kind)
	if gv.Group != "" {
		kind += "." + gv.Version + "." + gv.Group
	}
	command = "kubectl delete --ignore-not-found"
	if meta.Namespace != "" {
		command += " -n " + meta.Namespace
	}
	command += " " + kind + " " + meta.Name
	switch is.Kind {
	case "Namespace":
		command += "  # with everything in it"
	case "CustomResourceDefinition":
		command += "  # with all objects of this kind"
	}
	return strings.Join([]string{gv.Group, is.Kind, meta.Namespace, meta.Name}, "/"), command
}
