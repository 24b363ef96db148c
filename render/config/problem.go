package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxProblems is how many problems of a file are shown; the rest is counted. A file with more has one cause.
const maxProblems = 50

// maxPathShown is how much of a field's path a problem shows; the line says the rest.
const maxPathShown = 200

// Problem is one mistake in cluster.yaml: where it is, what was found, what was expected and what to do.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // 1-based; 0 if the problem is the whole file's
	Column  int    `json:"column,omitempty"` // 1-based, in characters; 0 if only the line is known
	Path    string `json:"path,omitempty"`   // the field, without the leading "spec."; empty if the problem is no field's
	Message string `json:"message"`

	more int // how many further problems this one stands for, when the list was cut off
}

// Error returns the problem as one line: file:line:column: path: message.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
		if p.Column > 0 {
			b.WriteString(":" + strconv.Itoa(p.Column))
		}
	}
	if p.Path != "" {
		b.WriteString(": " + pathText(p.Path))
	}
	// A message may quote what another program says in many lines. None of them may look like a line of kiln's.
	b.WriteString(": " + strings.ReplaceAll(p.Message, "\n", "\n  "))
	return b.String()
}

// pathText returns a path with keys as a message can show them: quoted if they have control characters or line ends.
func pathText(path string) string {
	if !hasControl(path) {
		return path
	}
	quoted := strconv.Quote(path)
	return quoted[1 : len(quoted)-1]
}

// Problems is everything that is wrong with a file, in file order.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Summary returns the line that a command prints after the problems: how many there are, and that nothing was written.
func (p Problems) Summary() string {
	if len(p) == 0 {
		return "kiln: no problems"
	}
	n, noun := 0, "problems"
	for i := range p {
		n += max(1, p[i].more)
	}
	if n == 1 {
		noun = "problem"
	}
	return fmt.Sprintf("kiln: %d %s in %s; nothing was written", n, noun, p[0].File)
}

// Problemf returns a problem at the line of a field, for the stages after Parse. path is written as in messages:
// nodes[2].addresses[0], without "spec.". If the field has no line of its own, because it is a default or is
// missing, the nearest field around it lends its line.
func (c *Cluster) Problemf(path, format string, args ...any) Problem {
	p := Problem{Path: path, Message: fmt.Sprintf(format, args...)}
	if c.source != nil {
		p.File = c.source.name
		p.Line, p.Column = position(c.source.root, parseWhere(c.source.root, path))
	}
	return p
}

// reporter collects the problems of one file.
type reporter struct {
	file   string
	root   *yaml.Node // the document's mapping, for lines; nil before it is parsed
	found  []Problem
	soft   map[string]int  // path of a problem that a more precise one of the same path replaces, and its index in found
	broken map[string]bool // paths whose values could not be read: what follows from that is not said again
}

// add reports a problem at a known place.
func (r *reporter) add(line, column int, path, message string) {
	if len(path) > maxPathShown {
		path = strings.ToValidUTF8(path[:maxPathShown], "") + "…"
	}
	r.found = append(r.found, Problem{File: r.file, Line: line, Column: column, Path: path, Message: message})
}

// breakAt reports a problem at n, whose value could not be read.
func (r *reporter) breakAt(n *yaml.Node, at *where, format string, args ...any) {
	path := at.String()
	if i, ok := r.soft[path]; ok {
		r.found[i].Message = fmt.Sprintf(format, args...)
		delete(r.soft, path)
	} else {
		line, column := at.place(n)
		r.add(line, column, path, fmt.Sprintf(format, args...))
	}
	r.hide(path)
}

// hide keeps quiet about a field, and everything below it, from here on.
func (r *reporter) hide(path string) {
	if r.broken == nil {
		r.broken = map[string]bool{}
	}
	r.broken[path] = true
}

// softAt reports a problem of the notation at n. The value was understood: if it turns out to be wrong as well,
// that is what is reported.
func (r *reporter) softAt(n *yaml.Node, at *where, format string, args ...any) {
	path := at.String()
	if r.soft == nil {
		r.soft = map[string]int{}
	}
	r.soft[path] = len(r.found)
	line, column := at.place(n)
	r.add(line, column, path, fmt.Sprintf(format, args...))
}

// report adds a problem of a field, unless its value could not be read in the first place.
func (r *reporter) report(at *where, format string, args ...any) {
	path := at.String()
	if r.isBroken(at) {
		return
	}
	message := fmt.Sprintf(format, args...)
	if i, ok := r.soft[path]; ok {
		r.found[i].Message = message
		delete(r.soft, path)
		return
	}
	line, column := position(r.root, at)
	r.add(line, column, path, message)
}

// isBroken says whether a field, or one around it, could not be read.
func (r *reporter) isBroken(at *where) bool {
	if len(r.broken) == 0 {
		return false
	}
	for ; at != nil; at = at.up {
		if path := at.String(); path != "" && r.broken[path] {
			return true
		}
	}
	return false
}

// problems returns what was found in file order, cut off after maxProblems; nil if nothing was.
func (r *reporter) problems() Problems {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if rest := len(r.found) - maxProblems; rest > 0 {
		more := Problem{File: r.file, Message: fmt.Sprintf("and %d more", rest), more: rest}
		r.found = append(r.found[:maxProblems:maxProblems], more)
	}
	return r.found
}
