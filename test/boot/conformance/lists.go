package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// minors are those of Kubernetes that kiln knows, oldest first.
var minors = []string{"1.34", "1.35", "1.36", "1.37"}

// run is the word for a spec that is run. Any other word is a key of reasons.txt.
const run = "run"

// lists are specs.txt and reasons.txt.
type lists struct {
	what    map[string]map[string]string // by minor and plain name: run, or a key of reasons
	reasons map[string]string            // why specs are not run, by key
	keys    []string                     // of reasons, in the order of the file
}

func readLists() (lists, error) {
	specs, err := os.ReadFile("specs.txt")
	if err != nil {
		return lists{}, err
	}
	reasons, err := os.ReadFile("reasons.txt")
	if err != nil {
		return lists{}, err
	}
	return parseLists(string(specs), string(reasons))
}

// parseLists reads the two files. In both, a line that begins with # is a comment, and tabs divide
// the others. A line of specs has minors ("all", or numbers with commas), what to do, and the plain
// name of the spec. A line of reasons has a key and the reason.
func parseLists(specs, reasons string) (lists, error) {
	l := lists{what: map[string]map[string]string{}, reasons: map[string]string{}}
	for _, minor := range minors {
		l.what[minor] = map[string]string{}
	}
	for _, fields := range lines(reasons) {
		if len(fields) != 2 || fields[0] == run || l.reasons[fields[0]] != "" {
			return l, fmt.Errorf("reasons.txt: %q is no key and reason", fields)
		}
		l.reasons[fields[0]] = fields[1]
		l.keys = append(l.keys, fields[0])
	}
	used := map[string]bool{}
	for _, fields := range lines(specs) {
		if len(fields) != 3 {
			return l, fmt.Errorf("specs.txt: %q is not minors, what and name", fields)
		}
		what, name := fields[1], fields[2]
		if what != run && l.reasons[what] == "" {
			return l, fmt.Errorf("specs.txt: there is no reason %q, of %s", what, name)
		}
		used[what] = true
		of := minors
		if fields[0] != "all" {
			of = strings.Split(fields[0], ",")
		}
		for _, minor := range of {
			if l.what[minor] == nil {
				return l, fmt.Errorf("specs.txt: there is no minor %q, of %s", minor, name)
			}
			if l.what[minor][name] != "" {
				return l, fmt.Errorf("specs.txt: %s has two lines for %s", name, minor)
			}
			l.what[minor][name] = what
		}
	}
	for _, key := range l.keys {
		if !used[key] {
			return l, fmt.Errorf("reasons.txt: no spec has the reason %q", key)
		}
	}
	return l, nil
}

// lines returns the fields of each line that is neither empty nor a comment.
func lines(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	return out
}

// moving are tags whose place in a name differs between releases.
var moving = []string{"[Conformance]", "[NodeConformance]", "[Serial]", "[Disruptive]"}

// plain returns the name of a spec without the moving tags.
func plain(name string) string {
	for _, tag := range moving {
		name = strings.ReplaceAll(name, " "+tag, "")
	}
	return name
}

// official returns the specs in the list of a release: their plain names, sorted, and by them their
// whole names.
func official(file string) (names []string, whole map[string]string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var specs []struct {
		Codename string `yaml:"codename"`
	}
	if err := yaml.Unmarshal(text, &specs); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	whole = map[string]string{}
	for _, s := range specs {
		whole[plain(s.Codename)] = s.Codename
	}
	return slices.Sorted(maps.Keys(whole)), whole, nil
}

// check returns an error for each official spec of a minor that specs.txt does not have.
func (l lists) check(minor string, names []string) error {
	var errs []error
	for _, name := range names {
		if l.what[minor][name] == "" {
			errs = append(errs, fmt.Errorf("specs.txt: %s is missing, of %s", name, minor))
		}
	}
	return errors.Join(errs...)
}

// checkAbsent returns an error for each name that specs.txt has for minors of which none has it. A
// line for all minors may name a spec that some do not have.
func (l lists) checkAbsent(names map[string][]string) error {
	known := map[string]bool{}
	for _, of := range names {
		for _, name := range of {
			known[name] = true
		}
	}
	missing := map[string]bool{}
	for _, minor := range minors {
		for name := range l.what[minor] {
			missing[name] = !known[name]
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if missing[name] {
			errs = append(errs, fmt.Errorf("specs.txt: no minor has %s", name))
		}
	}
	return errors.Join(errs...)
}

func checkFile(minor, file string) error {
	l, err := readLists()
	if err != nil {
		return err
	}
	if l.what[minor] == nil {
		return fmt.Errorf("there is no minor %q", minor)
	}
	names, _, err := official(file)
	if err != nil {
		return err
	}
	return l.check(minor, names)
}
