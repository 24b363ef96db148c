package patches

import (
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
)

// extent is how large an object is.
type extent struct {
	work    int // to walk through it, in microseconds
	pairs   int // of maps that are in the same list
	longest int // how many maps its longest list has
}

func extentOf(n *yamlv3.Node) (e extent) {
	maps := 0
	for _, child := range n.Content {
		below := extentOf(child)
		e.work += below.work
		e.pairs += below.pairs
		e.longest = max(e.longest, below.longest)
		if child.Kind == yamlv3.MappingNode {
			maps++
		}
	}
	e.work += 3
	switch n.Kind {
	case yamlv3.SequenceNode:
		e.pairs += maps * maps
		e.longest = max(e.longest, maps)
	case yamlv3.MappingNode:
		e.work += len(n.Content) * len(n.Content) / 50
	}
	return e
}

// verdict is what the nodes of two values say of what kustomize writes.
type verdict int

const (
	same verdict = iota
	unclear
	different
)

// compare compares two nodes. It is unclear whether other numbers are written in another way: 1.0
// is written as 1, and a number in a ConfigMap as a string.
func compare(a, b *yamlv3.Node) verdict {
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return different
	}
	found := same
	if a.Value != b.Value || a.ShortTag() != b.ShortTag() {
		if found = unclear; a.ShortTag() == "!!str" && b.ShortTag() == "!!str" {
			return different
		}
	}
	for i := range a.Content {
		if found = max(found, compare(a.Content[i], b.Content[i])); found == different {
			break
		}
	}
	return found
}

// internals begin the annotations by which kustomize talks to itself. One of them renames a Secret
// by the hash of its values.
const internals = "internal.config.kubernetes.io"

const internalsMessage = "annotations of " + internals + " are kustomize's own; remove them"

// hasInternals reports whether an object has annotations of kustomize's own.
func hasInternals(res *resource.Resource) bool {
	for key := range res.GetAnnotations() {
		if strings.HasPrefix(key, internals) {
			return true
		}
	}
	return false
}

// isLocal reports whether an object says that it is for kustomize alone (IgnoreLocal).
func isLocal(res *resource.Resource) bool {
	value, ok := res.GetAnnotations()[konfig.IgnoredByKustomizeAnnotation]
	return ok && value != "false"
}
