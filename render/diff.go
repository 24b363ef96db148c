package render

import (
	"fmt"
	"unicode/utf8"

	"kiln/render/change"
)

// Limits of what is shown of differences: they tell where to look, git shows the whole.
const (
	maxDiffs     = 20 // files
	maxDiffLines = 20 // of one file
)

// Diff is how one file differs.
type Diff struct {
	Name  string   `json:"name"`
	Lines []string `json:"lines"` // as in a unified diff, hunks with three lines around; a last one says how many more there are
}

// unified compares two texts line by line.
func unified(old, new []byte) []string {
	if !utf8.Valid(old) || !utf8.Valid(new) {
		return []string{"not text"}
	}
	lines := change.Unified(old, new)
	if more := len(lines) - maxDiffLines; more > 0 {
		lines = append(lines[:maxDiffLines:maxDiffLines], fmt.Sprintf("… and %d more lines", more))
	}
	return lines
}
