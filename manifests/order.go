package manifests

import (
	"slices"
	"strings"
)

// Sort puts objects into the order in which they can be applied: namespaces, then definitions of
// custom resources, then all others. Objects of the same rank keep their order.
func Sort(objects []Object) {
	slices.SortStableFunc(objects, func(a, b Object) int { return a.rank() - b.rank() })
}

// rank is the place of the object's kind in the order of Sort.
func (o *Object) rank() int {
	switch {
	case o.Kind == "Namespace" && strings.HasPrefix(o.Path, "/api/v1/"):
		return 0
	case o.Kind == customResource && strings.HasPrefix(o.Path, "/apis/apiextensions.k8s.io/"):
		return 1
	}
	return 2
}
