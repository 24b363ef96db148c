package rollout

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln/render/change"
	"kiln/render/plan"
	"kiln/render/shell"
)

// The names of files with the Secrets of pools' bootstrap tokens begin like this, without their
// number, and go on with the name of the pool: its token in force, and the one before.
const (
	poolToken     = "secret-" + plan.PoolTokenFile
	previousToken = "secret-" + plan.PreviousTokenFile
)

// isPrevious reports whether an object is the Secret of a previous token. It ends by itself.
func isPrevious(o change.Object) bool {
	return o.IsToken() && strings.HasPrefix(o.Name(), previousToken)
}

// deletions returns the commands that delete the API objects which the newer state no longer has,
// those with the highest numbers first: they were applied last. The earlier states are the
// inventory: kiln deletes only objects that it rendered and that a named state has.
func deletions(earlier []*change.Cluster, now *change.Cluster) (how []string) {
	kept := now.Objects()
	gone := map[string]change.Object{}
	for _, c := range earlier {
		for id, o := range c.Objects() {
			if _, stays := kept[id]; !stays && !isPrevious(o) {
				gone[id] = o
			}
		}
	}
	list := slices.SortedFunc(maps.Values(gone), change.Object.Before)
	for _, o := range slices.Backward(list) {
		how = append(how, deletion(o))
	}
	return how
}

// kubectl returns a command of kubectl for a namespace; none if it is empty.
func kubectl(namespace string, words ...string) string {
	if namespace != "" {
		words = append([]string{"-n", namespace}, words...)
	}
	return "kubectl " + strings.Join(words, " ")
}

// deletion returns the command that deletes an object. A person writes it if the state does not say
// what the object is.
func deletion(o change.Object) string {
	namespace, resource, name, ok := o.Words()
	if !ok {
		return "by hand, with kubectl delete: " + o.File() + ", which is no longer rendered"
	}
	command := kubectl(namespace, "delete", "--ignore-not-found", resource, name)
	switch resource {
	case "namespaces":
		command += "  # with everything in it, data of its volumes too"
	case "persistentvolumeclaims":
		command += "  # with its data, unless its volume says Retain"
	case "customresourcedefinitions.apiextensions.k8s.io":
		command += "  # with all objects of this kind"
	}
	return command
}

// application returns the command that applies an object's file, which is in a folder. An object
// that names no namespace goes where the hook puts it, and not where the user's context is.
func application(o change.Object, folder string) string {
	var says struct{ Metadata struct{ Namespace string } }
	namespace, _, _, _ := o.Words()
	if yaml.Unmarshal(o.Content, &says) == nil && says.Metadata.Namespace != "" {
		namespace = ""
	}
	return kubectl(namespace, "apply", "--server-side", "--force-conflicts", "-f",
		shell.Word(folder+change.ObjectsDir+o.File()))
}

// rollout returns the command that waits until the pods of an object are those that it now asks
// for. It is empty for objects without pods, and for those whose pods nobody replaces.
func rollout(o change.Object) string {
	namespace, resource, name, ok := o.Words()
	kind, isApp := strings.CutSuffix(resource, "s.apps")
	kinds := []string{"daemonset", "deployment", "statefulset"}
	if !ok || !isApp || !slices.Contains(kinds, kind) {
		return ""
	}
	var says struct {
		Spec struct {
			Paused         bool
			UpdateStrategy struct{ Type string }
		}
	}
	if yaml.Unmarshal(o.Content, &says) != nil || says.Spec.Paused ||
		says.Spec.UpdateStrategy.Type == "OnDelete" {
		return ""
	}
	return kubectl(namespace, "rollout", "status", kind, name)
}
