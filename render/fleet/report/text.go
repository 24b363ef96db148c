package report

import (
	"cmp"
	"strconv"
	"strings"
)

// line is a line of a report with its class, which follows from the line's sign.
type line struct{ Class, Text string }

// markLines returns the lines of a report with their classes.
func markLines(text string) (out []line) {
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		class := ""
		switch rest := strings.TrimSpace(l); {
		case strings.HasPrefix(rest, "+ ") || strings.Contains(l, ": + "):
			class = "new"
		case strings.HasPrefix(rest, "- ") || strings.Contains(l, ": - "):
			class = "gone"
		case l != "" && l[0] != ' ':
			class = "head"
		}
		out = append(out, line{class, l})
	}
	return out
}

// percent returns a share in percent, rounded down and at most 100.
func percent(n, of int) int {
	if of == 0 {
		return 0
	}
	return min(100, 100*n/of)
}

// thousands returns a number with commas between its thousands.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// natural compares names so that worker-2 comes before worker-10.
func natural(a, b string) int {
	const digits = "0123456789"
	if head := strings.TrimRight(a, digits); head == strings.TrimRight(b, digits) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}
