package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kiln.dev/kiln/render/config"
)

// maxErrors bounds how many errors of machines are shown: one mistake often repeats on every
// machine.
const maxErrors = 10

// joinErrors returns one error for those of several machines, in their order; nil elements are no
// errors. If any of them holds config.Problems, only the problems come back: they name the lines to
// correct, and the other errors may follow from them.
func joinErrors(errs []error) error {
	if problems := joinProblems(errs); len(problems) > 0 {
		return problems
	}
	var out []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(out) < maxErrors:
			out = append(out, err)
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, fmt.Errorf("and %d more machines with errors", more))
	}
	return errors.Join(out...)
}

// joinProblems returns the config.Problems in the errors of several machines, in the order of files
// and lines. A field that many machines share is reported once, as the first of them reports it.
func joinProblems(errs []error) (out config.Problems) {
	type place struct {
		file         string
		line, column int
		path         string
	}
	reported := map[place]int{} // the machine that reports a place
	for i, err := range errs {
		for _, p := range problemsIn(err) {
			at := place{p.File, p.Line, p.Column, p.Path}
			if first, ok := reported[at]; ok && first != i {
				continue
			}
			reported[at] = i
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	return out.Shorten()
}

// problemsIn returns all config.Problems that an error joins or wraps.
func problemsIn(err error) (out config.Problems) {
	switch err := err.(type) {
	case config.Problems:
		return err
	case interface{ Unwrap() error }:
		return problemsIn(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			out = append(out, problemsIn(e)...)
		}
	}
	return out
}
