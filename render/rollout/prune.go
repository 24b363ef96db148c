package rollout

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kiln/render/change"
	"kiln/render/plan"
	"kiln/render/shell"
)

// prune returns the commands that delete the API objects which the newer state no longer has, in an
// order opposite to that in which they were applied. The earlier states are the inventory: kiln
// deletes nothing that it did not render, and nothing of which no named state knows.
func prune(earlier []*change.Cluster, now *change.Cluster) (how []string) {
	kept := objectsOf(now)
	gone := map[string]*change.Entry{}
	for _, c := range earlier {
		for name, e := range objectsOf(c) {
			if kept[name] == nil && !strings.HasPrefix(name, token) {
				gone[name] = e
			}
		}
	}
	var list []*change.Entry
	for _, e := range gone {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *change.Entry) int { return strings.Compare(b.ID, a.ID) })
	for _, e := range list {
		how = append(how, deletion(e))
	}
	return how
}

// token begins the names of files with bootstrap tokens of pools. Their Secrets end by themselves.
const token = "secret-" + plan.PreviousTokenFile

// objectsOf returns the files of a state's API objects by their names without numbers.
func objectsOf(c *change.Cluster) map[string]*change.Entry {
	out := map[string]*change.Entry{}
	for _, m := range c.Machines {
		for _, e := range m.Entries {
			if name, ok := change.ObjectName(e.ID); ok && e.Kind == "file" {
				out[name] = e
			}
		}
	}
	return out
}

// deletion returns the command that deletes an object. A state does not show the content of a
// Secret, so the command for one has to be written by hand.
func deletion(e *change.Entry) string {
	var object struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	err := yaml.Unmarshal(e.Content, &object)
	gv, err2 := schema.ParseGroupVersion(object.APIVersion)
	if err != nil || err2 != nil || object.Kind == "" || object.Metadata.Name == "" {
		return "by hand, with kubectl delete: " + path.Base(e.ID) + ", which is no longer rendered"
	}
	kind := strings.ToLower(object.Kind)
	if gv.Group != "" {
		kind += "." + gv.Version + "." + gv.Group
	}
	command, with := "kubectl delete --ignore-not-found", ""
	switch object.Kind {
	case "Namespace":
		with = "  # with everything in it"
	case "CustomResourceDefinition":
		with = "  # with all objects of this kind"
	}
	if object.Metadata.Namespace != "" {
		command += " -n " + shell.Word(object.Metadata.Namespace)
	}
	return command + " " + shell.Word(kind) + " " + shell.Word(object.Metadata.Name) + with
}
