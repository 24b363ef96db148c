package patches

import (
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kschema "sigs.k8s.io/kustomize/kyaml/yaml/schema"
)

// extent is how large an object is.
type extent struct {
	nodes   int // all that it has
	work    int // to walk through it, in microseconds
	pairs   int // of maps that are in the same list
	longest int // how many maps its longest list has
	kinds   int // places that may say what kind of object lies there
}

// extentOf returns the extent of a value. kustomize walks through no list whose elements it cannot
// merge by what is known; with all, these are measured too.
func extentOf(n *yamlv3.Node, known *openapi.ResourceSchema, all bool) (e extent) {
	isMap, isList, inside := n.Kind == yamlv3.MappingNode, n.Kind == yamlv3.SequenceNode, 0
	isWalked := all || !isList || kschema.IsAssociative(known, nil, false)
	for i, child := range n.Content {
		var inner *openapi.ResourceSchema
		switch {
		case known == nil || !isWalked:
		case isList:
			inner = known.Elements()
		case i%2 == 1:
			inner = known.Field(n.Content[i-1].Value)
		}
		below := extentOf(child, inner, all)
		e.nodes += below.nodes
		e.work += below.work
		e.pairs += below.pairs
		e.longest = max(e.longest, below.longest)
		e.kinds += below.kinds
		if child.Kind == yamlv3.MappingNode {
			inside++
		}
		if isMap && i%2 == 0 && child.Value == "apiVersion" && len(n.Content[i+1].Content) == 0 {
			e.kinds++
		}
	}
	switch {
	case !isWalked:
		e.work, e.pairs, e.longest = 0, 0, 0
	case isList:
		e.pairs += inside * inside
		e.longest = max(e.longest, inside)
	case isMap:
		e.work += len(n.Content) * len(n.Content) / 50
	}
	if strings.Contains(n.HeadComment+n.LineComment, "{") { // to kustomize it is a schema
		e.kinds += 2
	}
	e.nodes++
	e.work += 3
	return e
}

// internals begin the annotations by which kustomize talks to itself. One of them renames a Secret
// by the hash of its values.
const internals = "internal.config.kubernetes.io"

const internalsMessage = "annotations of " + internals + " are kustomize's own; remove them"

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
