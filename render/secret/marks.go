package secret

import (
	"fmt"
	"path"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// CompareMarks returns an error for each difference between the secrets with which the files of a
// machine are marked and those that a table gives the machine.
func CompareMarks(kinds []Kind, c *Cluster, m *plan.Machine, n *node.Node) (errs []error) {
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	type holding struct {
		Holding
		user string
	}
	var expected []holding
	missing := map[Holding]int{}
	for i := range kinds {
		for _, h := range kinds[i].Holdings(c, m) {
			expected = append(expected, holding{h, kinds[i].User})
			missing[h]++
		}
	}
	for _, f := range n.Files {
		if f.Secret == "" {
			continue
		}
		atPath := Holding{Mark: f.Secret, Path: f.Path}
		inFolder := Holding{Mark: f.Secret, Path: path.Dir(f.Path) + "/"}
		switch {
		case missing[atPath] > 0:
			missing[atPath]--
		case missing[inFolder] > 0:
			missing[inFolder]--
		default:
			fail("file %s: must not hold the secret %s: %s; remove it",
				f.Path, f.Secret, DescribeHolders(kinds, f.Secret))
		}
	}
	for _, h := range expected {
		if missing[h.Holding] > 0 {
			missing[h.Holding]--
			fail("secret %s: missing from %s; it is there for %s", h.Mark, h.Path, h.user)
		}
	}
	return errs
}

// DescribeHolders returns, for a message, the machines that may hold a secret and the place where
// it lies there.
func DescribeHolders(kinds []Kind, mark string) string {
	var holders []string
	for i := range kinds {
		if Base(kinds[i].Name) == Base(mark) {
			holders = append(holders, "it is for "+kinds[i].Place())
		}
	}
	if len(holders) == 0 {
		return "the table of secrets does not have it"
	}
	return strings.Join(holders, ", ")
}
