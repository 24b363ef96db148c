package rollout

import (
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// The names of files with the Secrets of bootstrap tokens begin like this, without their number,
// and go on with the name of the pool: its token in force, and the one before.
const (
	poolToken     = "secret-" + plan.TokenFile
	previousToken = "secret-" + plan.PreviousTokenFile
)

// isPrevious reports whether an object is the Secret of a previous token. It ends by itself.
func isPrevious(o change.Object) bool {
	return o.IsToken() && strings.HasPrefix(o.Name(), previousToken)
}

// deletions returns the commands that delete the API objects which the newer state no longer has,
// those with the highest numbers first: they were applied last. The earlier states are the
// inventory: kiln deletes only objects that it rendered and that a named state has.
func deletions(earlier []*change.Cluster, now *change.Cluster) (how []Line) {
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
