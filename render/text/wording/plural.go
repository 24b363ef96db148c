// This file writes a number with its noun.

package wording

import "fmt"

// Count returns a number with its noun: "1 file", "2 files". The noun must have a regular plural.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
