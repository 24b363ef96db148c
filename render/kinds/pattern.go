package kinds

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"kiln/render/kinds/rule"
)

// Regular expressions of definitions are bounded: nested repetitions make one of 40 characters as
// large as 3 million steps, and to compare a value then takes minutes and gigabytes. The bounds are
// far above the expressions in use, which have some thousand steps.
const (
	maxSteps = 100_000     // of one expression
	maxWork  = 200_000_000 // steps times characters, for all values of a document
)

// pattern is a compiled regular expression.
type pattern struct {
	*regexp.Regexp
	steps int
}

// compile compiles a regular expression of a definition. It returns why that cannot be done.
func compile(text string) (p pattern, wrong string) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p, "is not a regular expression that the API server can read"
	}
	if p.steps = steps(parsed); p.steps > maxSteps {
		return p, "has too many repetitions in each other to compare a value in time"
	}
	p.Regexp, err = regexp.Compile(text)
	if err != nil {
		return p, "is not a regular expression that the API server can read"
	}
	return p, ""
}

// steps returns about how many steps an expression has when it is compiled.
func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n = min(n+steps(sub), maxSteps+1)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxSteps+1)
}

// patterns compares the values of one document with regular expressions.
type patterns struct {
	compiled map[string]pattern
	work     int // steps that it took so far
}

// mismatch returns why a string does not match a regular expression of its definition, "" if it
// does. An expression that cannot be compiled is the fault of the definition, and is left to it.
func (all *patterns) mismatch(v, text string) string {
	p, known := all.compiled[text]
	if !known {
		if all.compiled == nil {
			all.compiled = map[string]pattern{}
		}
		p, _ = compile(text)
		all.compiled[text] = p
	}
	if p.Regexp == nil || all.work > maxWork {
		return ""
	}
	if all.work += p.steps * len(v); all.work > maxWork {
		return "takes too long to compare with the regular expressions of its definition; " +
			"shorten the value, or simplify the expression"
	}
	if !p.MatchString(v) {
		return rule.Show(v) + " does not match " + cut(text)
	}
	return ""
}

// cut returns a regular expression as a message quotes it.
func cut(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
