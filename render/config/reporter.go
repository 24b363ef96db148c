package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// maxProblems is how many problems of a file are shown. The others are counted: a file with so many
// has one cause.
const maxProblems = 50

// maxPathShown is how many bytes of a field's path a problem shows. The line is known anyway.
const maxPathShown = 200

type reporter struct {
	file   string
	root   *yaml.Node // the map of the document, for lines; nil before it is parsed
	found  []Problem
	warned []Problem
	// soft maps paths to indices of found: a later problem of the same path replaces that one.
	soft map[string]int
	// hidden holds the paths of which nothing more is reported: their values could not be read.
	hidden map[string]bool
}

func (r *reporter) add(line, column int, path, message string) {
	if len(path) > maxPathShown {
		path = strings.ToValidUTF8(path[:maxPathShown], "") + "…"
	}
	r.found = append(r.found,
		Problem{File: r.file, Line: line, Column: column, Path: path, Message: message})
}

func inOrder(list Problems) Problems {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return list
}

func (r *reporter) warn(id string, at *yamltext.Location, format string, args ...any) {
	line, column := yamltext.Position(r.root, at)
	r.warned = append(r.warned, Problem{
		ID: id, File: r.file, Line: line, Column: column, Path: at.String(),
		Message: fmt.Sprintf(format, args...),
	})
}

// breakAt reports that the value n cannot be read, and hides the field.
func (r *reporter) breakAt(n *yaml.Node, at *yamltext.Location, format string, args ...any) {
	path := at.String()
	message := blameVariable(fmt.Sprintf(format, args...), n)
	if i, ok := r.soft[path]; ok {
		r.found[i].Message = message
		delete(r.soft, path)
	} else {
		line, column := at.Position(n)
		r.add(line, column, path, message)
	}
	r.hide(path)
}

// hide suppresses all later problems of a field and of everything below it.
func (r *reporter) hide(path string) {
	if r.hidden == nil {
		r.hidden = map[string]bool{}
	}
	r.hidden[path] = true
}

// softAt reports a notation problem at n. A later problem with the value itself replaces it.
func (r *reporter) softAt(n *yaml.Node, at *yamltext.Location, format string, args ...any) {
	path := at.String()
	if r.soft == nil {
		r.soft = map[string]int{}
	}
	r.soft[path] = len(r.found)
	line, column := at.Position(n)
	r.add(line, column, path, fmt.Sprintf(format, args...))
}

// report reports a problem of a field, unless the field is hidden.
func (r *reporter) report(at *yamltext.Location, format string, args ...any) {
	path := at.String()
	if r.isHidden(at) {
		return
	}
	message := fmt.Sprintf(format, args...)
	if variable.MatchString(message) {
		if value, _ := yamltext.Find(r.root, at); value != nil {
			message = blameVariable(message, value)
		}
	}
	if i, ok := r.soft[path]; ok {
		r.found[i].Message = message
		delete(r.soft, path)
		return
	}
	line, column := yamltext.Position(r.root, at)
	r.add(line, column, path, message)
}

func (r *reporter) isHidden(at *yamltext.Location) bool {
	if len(r.hidden) == 0 {
		return false
	}
	for ; at != nil; at = at.Parent() {
		if path := at.String(); path != "" && r.hidden[path] {
			return true
		}
	}
	return false
}

// problems returns what was reported, in file order and cut after maxProblems; nil if nothing was.
func (r *reporter) problems() Problems {
	if len(r.found) == 0 {
		return nil
	}
	return inOrder(r.found).Shorten()
}

// unexpanded is the message for a value that another program was to replace.
const unexpanded = "holds a variable, and kiln expands none; write the value, " +
	"or expand the file before kiln reads it, for example with envsubst"

// variable matches a variable of a shell or of a template language.
var variable = regexp.MustCompile(`\$\{\w+[^}]*\}|"\$\w+"|\{\{.*\}\}`)

// isTemplate reports whether a value is {{ name }} without quotes: to YAML a map in a map.
func isTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) == 2 &&
		n.Content[0].Kind == yaml.MappingNode
}

// blameVariable returns the message about a value that is a variable, or has one, if message says
// that the value itself is wrong. Otherwise it returns message.
func blameVariable(message string, value *yaml.Node) string {
	quoted := quote(value.Value)
	if strings.HasPrefix(message, quoted) && variable.MatchString(quoted) {
		return unexpanded
	}
	return message
}
