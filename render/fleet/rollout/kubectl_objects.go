package rollout

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// command returns a command of kubectl for a namespace; none if it is empty.
func command(namespace string, words ...string) string {
	if namespace != "" {
		words = append([]string{"-n", namespace}, words...)
	}
	return "kubectl " + strings.Join(words, " ")
}

// deletion returns the command that deletes an object. It is left to a person if the state does not
// say what the object is, and if data goes with it.
func deletion(o change.Object) Line {
	namespace, resource, name, ok := o.Words()
	if o.IsToken() {
		return Line{Act: ByHand,
			Text: "kubectl -n kube-system delete secret NAME  # the bootstrap token of " +
				o.File() + "; its NAME: kubectl -n kube-system get secrets --field-selector " +
				"type=bootstrap.kubernetes.io/token -o yaml, whose description (base64) names " +
				"the machines"}
	}
	if !ok {
		return Line{Act: ByHand, Text: "by hand, with kubectl delete: " + o.File() +
			", which is no longer rendered"}
	}
	line := commands(command(namespace, "delete", "--ignore-not-found", resource, name))[0]
	if lost := losses[resource]; lost != "" {
		return line.as(ByHand).with("  # with " + lost)
	}
	return line
}

// losses says what is deleted with an object of these resources.
var losses = map[string]string{
	"namespaces":             "everything in it, data of its volumes too",
	"persistentvolumeclaims": "its data, unless its volume says Retain",
	"customresourcedefinitions.apiextensions.k8s.io": "all objects of this kind",
}

// Application returns the command that applies an object's file, which is in a folder. An object
// that names no namespace goes where the hook puts it, and not where the user's context is.
func Application(o change.Object, folder string) string {
	var says struct{ Metadata struct{ Namespace string } }
	namespace, _, _, _ := o.Words()
	if yaml.Unmarshal(o.Content, &says) == nil && says.Metadata.Namespace != "" {
		namespace = ""
	}
	return command(namespace, "apply", "--server-side", "--force-conflicts", "-f",
		wording.ShellWord(folder+change.ObjectsDir+o.File()))
}

// Rollout returns the command that waits until the pods of an object are those that it now asks
// for. It is empty for objects without pods, and for those whose pods nobody replaces.
func Rollout(o change.Object) string {
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
	return command(namespace, "rollout", "status", kind, name)
}
