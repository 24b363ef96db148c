package patches

import (
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxWork is how much work the patches of one stream may be, in microseconds of a busy computer: a
// patch of four pods with a list of 400 elements, five patches of a thousand ConfigMaps, or some
// hundreds of patches of the pods of a control plane.
const maxWork = 1_500_000

// workOf returns about how long kustomize takes to merge p into an object, in microseconds, and the
// length of the longest list. kustomize walks through the whole object, save for lists that it
// replaces, and looks for each key of a map in the whole map. If it knows the kind of the object,
// it looks for each map of a list in the whole list. The caller holds engine.
func (p *Patch) workOf(e *entry) (work, longest int) {
	reduced, _ := p.divide(e)
	known := schemaOf(e)
	there := extentOf(reduced, known, p.list)
	unclear := p.unclear || there.kinds > 1
	if unclear {
		there = extentOf(reduced, known, true)
	}
	work, longest = 200+there.work+there.nodes/3, there.longest+p.longest
	if known != nil || unclear {
		work += 2 * (there.pairs + longest*longest - there.longest*there.longest)
	}
	return work + map[bool]int{true: 1000}[p.list], longest // a list: written and read again
}

// schemaOf returns what kustomize knows of an object's kind, nil if nothing. The caller holds
// engine.
func schemaOf(e *entry) *openapi.ResourceSchema {
	kind := kyaml.TypeMeta{APIVersion: e.is.APIVersion, Kind: e.is.Kind}
	return openapi.SchemaForResourceType(kind)
}

// TooMuch is why a patch is refused if it and those before it cost too much. The patches behind it
// would be refused too.
type TooMuch struct{ Message string }

// Error returns the message.
func (e *TooMuch) Error() string { return e.Message }
