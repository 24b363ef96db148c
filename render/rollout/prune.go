package rollout

import (
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

// prune returns the commands that delete the API objects which the newer state no longer has, in an
// order opposite to that in which they were applied. The earlier states are the inventory: kiln
// deletes nothing that it did not render, and nothing of which no named state knows.
func prune(earlier []*change.Cluster, now *change.Cluster) (how []string) {
	kept := objectsOf(now)
	gone := map[string]object{}
	for _, c := range earlier {
		for id, o := range objectsOf(c) {
			if _, stays := kept[id]; !stays && !o.previous {
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
	file     string // the name of its file, with its number
	name     string // and without
	content  []byte // nil for a Secret
	command  string // that deletes it
	previous bool   // a token that was renewed: its Secret ends by itself
}

// objectsOf returns the API objects of a state by what each is.
func objectsOf(c *change.Cluster) map[string]object {
	out := map[string]object{}
	for _, m := range c.Machines {
		for _, e := range m.Entries {
			if name, ok := change.ObjectName(e.ID); ok && e.Kind == "file" {
				id, command := deletion(e, name)
				out[id] = object{path.Base(e.ID), name, e.Content, command,
					strings.HasPrefix(name, "secret-"+plan.PreviousTokenFile)}
			}
		}
	}
	return out
}

// word is a part of an object's identity that no shell and no kubectl takes for something else.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._-]*$`)

// deletion returns what an object is, and the command that deletes it. A state does not show the
// content of a Secret: then the file's name is all that is known, and a person writes the command.
func deletion(e *change.Entry, name string) (id, command string) {
	var object struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	byHand := "by hand, with kubectl delete: " + path.Base(e.ID) + ", which is no longer rendered"
	err := yaml.Unmarshal(e.Content, &object)
	gv, err2 := schema.ParseGroupVersion(object.APIVersion)
	meta := object.Metadata
	if err != nil || err2 != nil ||
		!word.MatchString(object.Kind) || !word.MatchString(meta.Name) ||
		meta.Namespace != "" && !word.MatchString(meta.Namespace) ||
		gv.Group != "" && !word.MatchString(gv.Group+gv.Version) {
		return name, byHand
	}
	kind := strings.ToLower(object.Kind)
	if gv.Group != "" {
		kind += "." + gv.Version + "." + gv.Group
	}
	command = "kubectl delete --ignore-not-found"
	if meta.Namespace != "" {
		command += " -n " + meta.Namespace
	}
	command += " " + kind + " " + meta.Name
	switch object.Kind {
	case "Namespace":
		command += "  # with everything in it"
	case "CustomResourceDefinition":
		command += "  # with all objects of this kind"
	}
	return strings.Join([]string{gv.Group, object.Kind, meta.Namespace, meta.Name}, "/"), command
}
