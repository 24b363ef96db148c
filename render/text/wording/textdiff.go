// This file compares two texts line by line, for people.
//
// github.com/aymanbagabas/go-udiff v0.3.1 was tried in its place. Its comparison of lines
// (myers.ComputeEdits) has no limit: for 8,000 different lines it allocates 4 GiB and takes 14
// seconds. Its comparison of characters has a limit, but past it reports more than three times as
// many changed lines as there are. Here the changed lines are the fewest, and maxCells bounds the
// work.

package wording

import (
	"fmt"
	"slices"
	"strings"
)

// maxCells bounds the work of a comparison, in lines of one text times lines of the other. A cell
// has eight bytes.
const maxCells = 4 << 20

// UnifiedDiff returns the hunks of a unified diff, with three lines around each change. Characters
// that a terminal would obey are escaped. If the texts have too many lines to compare, one line
// says so.
func UnifiedDiff(old, new []byte) []string {
	out := hunks(compareLines(SplitLines(old), SplitLines(new)))
	for i := range out {
		out[i] = Visible(out[i], "\t")
	}
	return out
}

// SplitLines returns the lines of a text without their ends.
func SplitLines(text []byte) (out []string) {
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out
}

// compareLines returns the lines of both texts with the fewest changes. Each line has ' ', '-' or
// '+' before it.
func compareLines(a, b []string) (out []string) {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		out = append(out, " "+a[start])
		start++
	}
	var tail []string
	for len(a) > start && len(b) > start && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, " "+a[len(a)-1])
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	a, b = a[start:], b[start:]
	slices.Reverse(tail)

	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	if len(a)*len(b) > maxCells {
		a, b, common = nil, nil, common[:1]
		out = append(out, "-(too many lines to compare)", "+(too many lines to compare)")
	}
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return append(out, tail...)
}

// hunks drops the lines that are far from any change, and adds where each hunk begins.
func hunks(lines []string) (out []string) {
	const around = 3
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line[0] != ' ' {
			for j := max(0, i-around); j < min(len(lines), i+around+1); j++ {
				near[j] = true
			}
		}
	}
	oldLine, newLine := 1, 1
	for i, line := range lines {
		if near[i] {
			if i == 0 || !near[i-1] {
				out = append(out, fmt.Sprintf("@@ -%d +%d @@", oldLine, newLine))
			}
			out = append(out, line)
		}
		if line[0] != '+' {
			oldLine++
		}
		if line[0] != '-' {
			newLine++
		}
	}
	return out
}
