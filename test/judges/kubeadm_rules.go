package judges

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A kubeadmRule is a difference from kubeadm that has a reason.
type kubeadmRule struct {
	Text   string // as it stands in the file
	Line   int    // of the file
	Reason string

	minors, roles, cases []string // that it is for; all if empty
	pattern              *regexp.Regexp
}

// kubeadmRuleList is in the order of its file: the first rule that fits a difference is its own.
type kubeadmRuleList []*kubeadmRule

const kubeadmRulesFile = "testdata/kubeadm-differences.txt"

// kubeadmRules are the differences that have been reviewed.
var kubeadmRules = sync.OnceValues(func() (kubeadmRuleList, error) {
	text, err := os.ReadFile(kubeadmRulesFile)
	if err != nil {
		return nil, err
	}
	return parseKubeadmRules(string(text))
})

// parseKubeadmRules reads a file of differences, whose head says what it looks like.
func parseKubeadmRules(text string) (all kubeadmRuleList, err error) {
	var open kubeadmRuleList // the paragraph's rules, which its reason is for
	number, reason := 0, ""
	for line := range strings.Lines(text + "\n\n") {
		number++
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			reason = strings.TrimSpace(reason + " " + strings.TrimSpace(line))
		case line != "" && reason != "":
			return nil, fmt.Errorf("%s:%d: a difference after its reason; begin a paragraph",
				kubeadmRulesFile, number)
		case line != "":
			open = append(open, newKubeadmRule(number, line))
		case (len(open) > 0) != (reason != ""):
			return nil, fmt.Errorf(
				"%s:%d: the paragraph ends without differences or without a reason",
				kubeadmRulesFile, number,
			)
		default:
			for _, r := range open {
				r.Reason = reason
			}
			all, open, reason = append(all, open...), nil, ""
		}
	}
	return all, nil
}

// newKubeadmRule reads one difference, with what it is limited to in brackets before it.
func newKubeadmRule(number int, line string) *kubeadmRule {
	r := &kubeadmRule{Text: line, Line: number}
	if limits, rest, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(limits, "[") {
		line = rest
		for _, word := range strings.Fields(limits[1:]) {
			switch {
			case strings.HasPrefix(word, "v1."):
				r.minors = append(r.minors, word)
			case word == "control-plane", word == "worker", word == "etcd":
				r.roles = append(r.roles, word)
			default:
				r.cases = append(r.cases, word)
			}
		}
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(line), `\*`, ".*")
	r.pattern = regexp.MustCompile("^" + pattern + "$")
	return r
}

// explain returns the rule for a difference on that machine, or nil.
func (all kubeadmRuleList) explain(difference string, m *Machine) *kubeadmRule {
	for _, r := range all {
		if r.forMinor(m.Kubernetes) && limitedTo(r.roles, m.Role) && limitedTo(r.cases, m.Case) &&
			r.pattern.MatchString(difference) {
			return r
		}
	}
	return nil
}

// forMinor reports whether the rule is for the minor of a release.
func (r *kubeadmRule) forMinor(release string) bool {
	return limitedTo(r.minors, release[:strings.LastIndex(release, ".")])
}

func limitedTo(list []string, word string) bool {
	return len(list) == 0 || slices.Contains(list, word)
}

// stale lists the rules of a release that explain no difference. seen holds the cases that this
// release has, and needed those in which each rule was needed. A rule that names cases has to be
// needed in each of those that there are.
func (all kubeadmRuleList) stale(
	release string, seen []string, needed map[*kubeadmRule][]string,
) (out []string) {
	for _, r := range all {
		of := slices.DeleteFunc(slices.Clone(r.cases),
			func(c string) bool { return !slices.Contains(seen, c) })
		unneeded := slices.DeleteFunc(slices.Clone(of),
			func(c string) bool { return slices.Contains(needed[r], c) })
		switch {
		case !r.forMinor(release), len(r.cases) > 0 && len(of) == 0:
		case len(needed[r]) == 0:
			out = append(out, fmt.Sprintf("%s:%d: kubeadm and kiln no longer differ like this: %s",
				kubeadmRulesFile, r.Line, r.Text))
		case len(unneeded) > 0:
			out = append(out,
				fmt.Sprintf("%s:%d: %s: kubeadm and kiln no longer differ like this: %s",
					kubeadmRulesFile, r.Line, strings.Join(unneeded, ", "), r.Text))
		}
	}
	return out
}
