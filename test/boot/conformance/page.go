package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const head = `# Conformance

For anyone who asks whether these are whole clusters. The source of Kubernetes marks specs with
[Conformance]. Which of them ran on machines that kiln's documents made, and which did not, and
why? This page is made of what "make conformance" measured; nobody edits it.

The machines are containers of one computer ([test/boot](../test/boot/README.md)): three control
planes and two workers. The cluster is as kiln makes it, but for what every container of that kind
needs. The test program e2e.test is built from the Kubernetes module of the same release, and runs
as the operator, with admin.conf. Each run ends with the boot net: what consoles and journals say.

This is not a certificate. No registry of images can be asked. What stands in for the test images
was built from the same sources, or from Debian's packages. A spec that needs more is in the list,
with the reason.

`

// page returns the page of all results.
func page() (string, error) {
	l, err := readLists()
	if err != nil {
		return "", err
	}
	all := map[string]results{}
	for _, minor := range minors {
		r, err := readResults(resultsOf(minor))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		all[minor] = r
	}
	var b strings.Builder
	b.WriteString(head)
	summary(&b, all)
	for _, minor := range minors {
		if r, ok := all[minor]; ok {
			runs(&b, minor, r)
			failures(&b, r)
		}
	}
	reasons(&b, l, all)
	specs(&b, all)
	return b.String(), nil
}

// summary is a row for each minor.
func summary(b *strings.Builder, all map[string]results) {
	row(b, "minor", "release", "official specs", "in the list to run", "passed", "failed",
		"no result", "not run, with a reason")
	row(b, dashes(8)...)
	for _, minor := range minors {
		r, ok := all[minor]
		if !ok {
			row(b, minor, "no run yet", "", "", "", "", "", "")
			continue
		}
		count := map[string]int{}
		for _, s := range r.specs {
			count[s.state]++
		}
		row(b, minor, r.runs[0]["kubernetes"], strconv.Itoa(len(r.specs)),
			strconv.Itoa(len(r.specs)-count[notRun]), strconv.Itoa(count[passed]),
			strconv.Itoa(count[failed]), strconv.Itoa(count[noResult]), strconv.Itoa(count[notRun]))
	}
}

// runs is a row for each fact of the runs of a minor, and a column for each run.
func runs(b *strings.Builder, minor string, r results) {
	fmt.Fprintf(b, "\n## Runs of %s\n\n", minor)
	header := []string{"what"}
	facts := map[string]bool{}
	for i, about := range r.runs {
		header = append(header, fmt.Sprintf("run %d", i+1))
		for name := range about {
			facts[name] = true
		}
	}
	row(b, header...)
	row(b, dashes(len(header))...)
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		cells := []string{name}
		for _, about := range r.runs {
			cells = append(cells, about[name])
		}
		row(b, cells...)
	}
	if len(r.runs) > 1 {
		b.WriteString("\nEach run after the first one ran again what had not passed until then, " +
			"or was new in the list.\n")
	}
	repeated := map[string]int{}
	for name, s := range r.specs {
		if len(s.runs) > 1 {
			repeated[name] = len(s.runs)
		}
	}
	if len(repeated) > 0 {
		b.WriteString("\nThese specs were in more than one run:\n\n")
	}
	for _, name := range slices.Sorted(maps.Keys(repeated)) {
		fmt.Fprintf(b, "- %s: %s in run %d, after %d that it did not pass\n", text(name),
			r.specs[name].state, r.specs[name].runs[repeated[name]-1], repeated[name]-1)
	}
}

// failures lists the specs that have not passed.
func failures(b *strings.Builder, r results) {
	for _, name := range slices.Sorted(maps.Keys(r.specs)) {
		if s := r.specs[name]; s.state == failed || s.state == noResult {
			fmt.Fprintf(b, "\n**%s**: %s: %s\n", s.state, text(name), text(s.why))
		}
	}
}

// reasons says why specs are not run, and how many.
func reasons(b *strings.Builder, l lists, all map[string]results) {
	b.WriteString("\n## Why specs are not run\n\n")
	row(b, append([]string{"key", "reason"}, minors...)...)
	row(b, append([]string{"---", "---"}, dashes(len(minors))...)...)
	for _, key := range l.keys {
		cells := []string{key, l.reasons[key]}
		for _, minor := range minors {
			count := 0
			for _, s := range all[minor].specs {
				if s.state == notRun && s.why == key {
					count++
				}
			}
			cells = append(cells, strconv.Itoa(count))
		}
		row(b, cells...)
	}
}

// specs is a row for each spec, and a column for each minor.
func specs(b *strings.Builder, all map[string]results) {
	b.WriteString("\n## All specs\n\nThe seconds of a spec that passed, or what became of it. An " +
		"empty cell: this minor does not\nhave the spec, or has no run yet.\n\n")
	row(b, append([]string{"spec"}, minors...)...)
	row(b, dashes(1+len(minors))...)
	names := map[string]bool{}
	for _, r := range all {
		for name := range r.specs {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		cells := []string{text(name)}
		for _, minor := range minors {
			cells = append(cells, cell(all[minor].specs[name]))
		}
		row(b, cells...)
	}
}

func cell(s spec) string {
	switch s.state {
	case passed:
		return strconv.Itoa(int(s.seconds + 0.5))
	case notRun:
		return "not run: " + s.why
	}
	return s.state
}

// text returns a text in which Markdown sees no markup.
func text(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "[", `\[`, "<", "&lt;", "`", "'").Replace(s)
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func dashes(count int) []string { return slices.Repeat([]string{"---"}, count) }
