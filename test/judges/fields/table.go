package main

import (
	"slices"
	"strings"
)

// table holds the minors in which each line holds, by the line.
type table map[string][]string

// A line is "kind VERSION KIND TYPE" or "TYPE FIELD TYPE-OF-FIELD". In the file, the lines of a
// type stand below its name, and minors stand at the end of a line that does not hold in all.

// head is the beginning of the file.
const head = "# The kinds of Kubernetes that kiln knows, and the fields of their types.\n" +
	"# test/judges/fields writes this file from the types of each minor. A line that does not\n" +
	"# hold in all minors ends with those in which it holds.\n"

// Parse reads a table. Every line of it comes from String.
func Parse(text string) table {
	t := table{}
	var all []string
	owner := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0] == "minors":
			all = words[1:]
			continue
		case strings.HasPrefix(line, "\t"):
			words = append([]string{owner}, words...)
		case words[0] == "type":
			owner = words[1]
			continue
		}
		minors := all
		size := 3
		if words[0] == "kind" {
			size = 4
		}
		if len(words) > size {
			minors = strings.Split(words[size], ",")
		}
		t[strings.Join(words[:size], " ")] = minors
	}
	return t
}

// Replace makes lines all that holds in a minor.
func (t table) Replace(minor string, lines []string) {
	for line, minors := range t {
		t[line] = slices.DeleteFunc(slices.Clone(minors), func(m string) bool { return m == minor })
	}
	for _, line := range lines {
		t[line] = append(t[line], minor)
		slices.Sort(t[line])
	}
	for line, minors := range t {
		if len(minors) == 0 {
			delete(t, line)
		}
	}
}

// String returns the table as its file has it.
func (t table) String() string {
	known := map[string]bool{}
	var kinds, fields []string
	for line, minors := range t {
		for _, m := range minors {
			known[m] = true
		}
		if strings.HasPrefix(line, "kind ") {
			kinds = append(kinds, line)
		} else {
			fields = append(fields, line)
		}
	}
	var all []string
	for m := range known {
		all = append(all, m)
	}
	slices.Sort(all)
	var b strings.Builder
	b.WriteString(head + "minors " + strings.Join(all, " ") + "\n")
	write := func(shown, line string) {
		b.WriteString(shown)
		if minors := t[line]; len(minors) < len(all) {
			b.WriteString(" " + strings.Join(minors, ","))
		}
		b.WriteString("\n")
	}
	slices.Sort(kinds)
	for _, line := range kinds {
		write(line, line)
	}
	slices.Sort(fields)
	owner := ""
	for _, line := range fields {
		name, field, _ := strings.Cut(line, " ")
		if name != owner {
			owner = name
			b.WriteString("type " + name + "\n")
		}
		write("\t"+field, line)
	}
	return b.String()
}
