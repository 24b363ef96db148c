package render

import (
	"fmt"
	"unicode/utf8"

	"kiln.dev/kiln/render/text/wording"
)

// Limits of the differences that a message shows. They tell where to look; git shows the whole.
const (
	maxDiffs     = 20 // files
	maxDiffLines = 20 // of one file
)

// Diff is the difference between two versions of one file.
type Diff struct {
	Name string `json:"name"`
	// Lines are those of a unified diff, in hunks with three lines of context. If lines were left
	// out, a last line says how many.
	Lines []string `json:"lines"`
}

// unifiedDiff returns the difference between two versions of a file, cut off after maxDiffLines.
func unifiedDiff(old, new []byte) []string {
	if !utf8.Valid(old) || !utf8.Valid(new) {
		return []string{"not text"}
	}
	lines := wording.UnifiedDiff(old, new)
	if more := len(lines) - maxDiffLines; more > 0 {
		lines = append(lines[:maxDiffLines:maxDiffLines],
			fmt.Sprintf("… and %d more lines", more))
	}
	return lines
}
