package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results are what is known of a minor. The file has a line for each fact of each run, and one for
// each spec; tabs divide the fields.
type results struct {
	runs  []map[string]string // facts of each run
	specs map[string]spec
}

// spec is what became of a spec in its last run.
type spec struct {
	state   string
	runs    []int // the runs in which it was, counted from 1
	seconds float64
	why     string // the first line of a failure, or the key of the reason
}

const (
	passed   = "passed"
	failed   = "failed"
	noResult = "no result" // it should have run
	notRun   = "not run"   // for a reason
)

func resultsOf(minor string) string { return filepath.Join("results", "v"+minor+".txt") }

func readResults(file string) (results, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return results{}, err
	}
	r := results{specs: map[string]spec{}}
	for _, fields := range lines(string(text)) {
		switch {
		case len(fields) == 4 && fields[0] == "fact":
			number, err := strconv.Atoi(fields[1])
			if err != nil || number < 1 || number > len(r.runs)+1 {
				return r, fmt.Errorf("%s: %q: there is no such run", file, fields)
			}
			if number > len(r.runs) {
				r.runs = append(r.runs, map[string]string{})
			}
			r.runs[number-1][fields[2]] = fields[3]
		case len(fields) == 6 && fields[0] == "spec":
			s := spec{state: fields[1], why: fields[5]}
			if fields[2] != "" {
				for _, word := range strings.Split(fields[2], ",") {
					number, err := strconv.Atoi(word)
					if err != nil || number < 1 || number > len(r.runs) {
						return r, fmt.Errorf("%s: %q: there is no such run", file, fields)
					}
					s.runs = append(s.runs, number)
				}
			}
			if s.seconds, err = strconv.ParseFloat(fields[3], 64); err != nil {
				return r, fmt.Errorf("%s: %q: %w", file, fields, err)
			}
			r.specs[fields[4]] = s
		default:
			return r, fmt.Errorf("%s: %q is neither a fact nor a spec", file, fields)
		}
	}
	return r, nil
}

func (r results) write(file string) error {
	var b strings.Builder
	for i, facts := range r.runs {
		for _, name := range slices.Sorted(maps.Keys(facts)) {
			fmt.Fprintf(&b, "fact\t%d\t%s\t%s\n", i+1, name, facts[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.specs)) {
		s := r.specs[name]
		fmt.Fprintf(&b, "spec\t%s\t%s\t%.1f\t%s\t%s\n", s.state, numbers(s.runs), s.seconds, name,
			s.why)
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func numbers(list []int) string {
	var words []string
	for _, number := range list {
		words = append(words, strconv.Itoa(number))
	}
	return strings.Join(words, ",")
}

// report is a part of what ginkgo --json-report writes.
type report struct {
	SpecReports []struct {
		ContainerHierarchyTexts []string
		LeafNodeText            string
		State                   string
		RunTime                 time.Duration
		Failure                 struct{ Message string }
	}
}

// addReport turns a report into the results of a minor.
func addReport(minor, list, facts, file string, again bool) error {
	l, err := readLists()
	if err != nil {
		return err
	}
	names, _, err := official(list)
	if err != nil {
		return err
	}
	old := results{specs: map[string]spec{}}
	if again {
		if old, err = readResults(resultsOf(minor)); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(facts)
	if err != nil {
		return err
	}
	about := map[string]string{}
	for _, fields := range lines(string(text)) {
		about[fields[0]] = strings.Join(fields[1:], " ")
	}
	if err := old.fits(about); err != nil {
		return err
	}
	text, err = os.ReadFile(file)
	if err != nil {
		return err
	}
	var reports []report
	if err := json.Unmarshal(text, &reports); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	r := old.with(about, reports, l.what[minor], names)
	if err := r.write(resultsOf(minor)); err != nil {
		return err
	}
	return r.verdict()
}

// fits fails if the results are of another release than the run that about is of: those of two
// releases are not one list.
func (r results) fits(about map[string]string) error {
	const release = "kubernetes"
	for _, run := range r.runs {
		if run[release] != about[release] {
			return fmt.Errorf("the results are of %s, and this run is of %s: run all specs",
				run[release], about[release])
		}
	}
	return nil
}

// with returns the results after one more run. what says of each spec what is done with it, and
// names are the plain names of the specs of the release.
func (r results) with(
	about map[string]string, reports []report, what map[string]string, names []string,
) results {
	now := results{runs: append(slices.Clone(r.runs), about), specs: map[string]spec{}}
	for _, name := range names {
		old, ok := r.specs[name]
		switch {
		case what[name] != run:
			now.specs[name] = spec{state: notRun, why: what[name]}
		case ok && old.state != notRun:
			now.specs[name] = old
		default:
			now.specs[name] = spec{state: noResult}
		}
	}
	for _, part := range reports {
		for _, s := range part.SpecReports {
			name := plain(strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "))
			// Ginkgo also calls those skipped that it was not asked for. A spec that skips itself
			// says why.
			ran := s.State != "pending" && (s.State != "skipped" || s.Failure.Message != "")
			if what[name] != run || !ran {
				continue
			}
			result := spec{
				state: failed, runs: append(r.specs[name].runs, len(now.runs)),
				seconds: s.RunTime.Seconds(), why: firstLine(s.State, s.Failure.Message),
			}
			if s.State == passed {
				result.state, result.why = passed, ""
			}
			now.specs[name] = result
		}
	}
	return now
}

// firstLine returns what a failure says first, short and without tabs.
func firstLine(state, message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if runes := []rune(line); len(runes) > 200 {
		line = string(runes[:200]) + "…"
	}
	if state != failed {
		line = strings.TrimSpace(state + " " + line)
	}
	return line
}

// verdict returns an error for each spec that should have passed and did not.
func (r results) verdict() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.specs)) {
		if s := r.specs[name]; s.state == failed || s.state == noResult {
			errs = append(errs, fmt.Errorf("%s: %s: %s", s.state, name, s.why))
		}
	}
	return errors.Join(errs...)
}
