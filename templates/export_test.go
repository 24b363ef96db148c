package templates

import (
	"slices"
	"strings"
)

// CheckKinds returns the kinds of checks that there are functions for, sorted.
func CheckKinds() (kinds []string) {
	for name := range functions {
		if kind, ok := strings.CutPrefix(name, "check_"); ok {
			kinds = append(kinds, strings.ReplaceAll(kind, "_", "-"))
		}
	}
	slices.Sort(kinds)
	return kinds
}
