package preflight

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// Catalogue lists every check, in the order in which the first boot makes them.
var Catalogue = slices.Concat(hardware, kernel, clock, identity, network, disks, programs)

// one returns a single call.
func one(text string) []call { return []call{{text: text}} }

// when returns a single call if wanted is true, and none otherwise.
func when(wanted bool, text string) []call {
	if !wanted {
		return nil
	}
	return one(text)
}

// each returns the words of a list, which are what people call them too.
func each(words ...string) []call {
	out := make([]call, len(words))
	for i, word := range words {
		out[i] = call{word, word}
	}
	return out
}

// always makes a single call on every machine.
func always(text string) func(*Facts) []call {
	return func(*Facts) []call { return one(text) }
}

// onControlPlanes makes a single call on control planes.
func onControlPlanes(text string) func(*Facts) []call {
	return func(f *Facts) []call { return when(f.Machine.ControlPlane(), text) }
}

// systems returns the names of the operating systems for which want is true, for the column Wants.
func systems(want func(*target.System) bool) string {
	return strings.Join(target.SystemNames(want), ", ")
}
