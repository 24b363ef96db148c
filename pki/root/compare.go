package root

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mismatch is a root that two states of one cluster cannot both have.
type Mismatch struct {
	Here, There                   string // the marks of its newest generations
	Fingerprint, FingerprintThere string
}

// Compare compares the fingerprints of the roots in two states of one cluster. It returns the first
// root that has two keys of one generation, or no generation in common: each stage of a rotation
// has one in common with the stage before. It returns nil if there is no such root. A root that one
// of the two does not have shows nothing.
func Compare(here, there map[string]string) *Mismatch {
	for _, root := range All() {
		mine, others := marks(here, root), marks(there, root)
		common := len(mine) == 0 || len(others) == 0
		for _, mark := range mine {
			other, ok := there[mark]
			if ok && other != here[mark] {
				return &Mismatch{mark, mark, here[mark], other}
			}
			common = common || ok
		}
		if !common {
			return &Mismatch{mine[0], others[0], here[mine[0]], there[others[0]]}
		}
	}
	return nil
}

// marks returns the marks of a root among fingerprints, sorted.
func marks(prints map[string]string, root Root) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(prints)), func(mark string) bool {
		return !strings.HasPrefix(mark, fmt.Sprintf("%s g", root))
	})
}
