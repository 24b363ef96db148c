// This file finds the place where a document stops being YAML, and says what to write
// there. A YAML parser knows only where it gave up, often lines later and without a column. The
// package reads the lines as a person does: their indentation, their keys, their quotes and
// brackets. It quotes nothing of a document but keys that its caller knows, because what does not
// belong there may be a secret.

package yamltext

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Fault is the first place where a stream of documents is not valid YAML.
type Fault struct {
	Line, Column int    // 1-based; the column counts characters
	Message      string // what is there, and what to write
}

// FindFault returns the fault of a document that the parser cannot read. Its message may name the
// keys in known and no others. ok is false if FindFault does not understand the mistake. It returns
// only a fault that the parser confirms: the parser reads the lines before the fault, and fails at
// the line with it. A mark of a conflict is always a fault.
func FindFault(document []byte, known []string) (f Fault, ok bool) {
	r := newReader(known)
	r.document(document)
	if r.fault == nil || !confirmed(document, r.fault.Line, r.number) {
		return Fault{}, false
	}
	return *r.fault, true
}

// template matches what a template of Helm has between braces.
var template = regexp.MustCompile(`\{\{-?\s*(/\*|` +
	`\$?\.(Values|Release|Chart|Capabilities|Files)\b|` +
	`(if|with|range|include|template|define|end|toYaml|tpl)\b)`)

// Template returns the first place where a document has what only a template of Helm has. ok is
// false if there is none. Callers ask for documents that the parser cannot read.
func Template(document []byte) (f Fault, ok bool) {
	at := template.FindIndex(document)
	if at == nil {
		return Fault{}, false
	}
	before := document[:at[0]]
	return Fault{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
		Message: "is a template of Helm, and kiln does not run Helm; " +
			"write the output of helm template into the file",
	}, true
}

// Indentation returns the column of a line's first character but spaces, tabs and dashes of items.
func Indentation(line []byte) int {
	return len(line) - len(bytes.TrimLeft(line, " \t-")) + 1
}

// confirmed reports whether a fault is one for the parser too: it reads the lines before that line,
// and fails at the line shown or before it. A mark of a conflict needs no parser's failure.
func confirmed(document []byte, line, shown int) bool {
	lines := slices.Collect(bytes.Lines(document))
	// The first mark of a conflict alone may be a text, which the parser can read. No document has
	// one on purpose.
	mark := IsConflict(bytes.TrimRight(lines[line-1], "\r\n")) && lines[line-1][0] == '<'
	return parses(lines[:line-1]) && (mark || !parses(lines[:shown]))
}

func parses(lines [][]byte) bool {
	documents := yaml.NewDecoder(bytes.NewReader(bytes.Join(lines, nil)))
	for {
		var root yaml.Node
		if err := documents.Decode(&root); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// reader reads a document line by line and keeps what is open: lists and maps by their indentation,
// brackets, a quote, a value of several lines.
type reader struct {
	known  []string
	number int // of the current line
	fault  *Fault

	levels  []level   // the open block maps and lists, outermost first
	opened  bool      // a value may begin: after a key or a dash alone, and at the beginning
	plain   bool      // the line before ended in a value without quotes, which may go on
	alone   *alone    // the line before is a value without a key
	quote   *opener   // an open quote
	flow    []bracket // the open brackets, outermost first
	literal *literal  // an open value behind | or >
}

func newReader(known []string) *reader { return &reader{known: known, opened: true} }

func (r *reader) document(text []byte) {
	for line := range bytes.Lines(text) {
		r.number++
		if r.line(bytes.TrimRight(line, "\r\n")); r.fault != nil {
			return
		}
	}
	r.end()
}

// level is a block map or list: all its keys or dashes have one indentation.
type level struct {
	indent int
	list   bool
	line   int // the last line with a key or dash of it
}

type opener struct {
	char         byte
	line, column int
	indent       int
}

// alone is a line with a value alone, which may be a key that lost its colon.
type alone struct {
	text       []byte
	number, at int
}

// literal is a value behind | or >, which is indented deeper than the key before it.
type literal struct {
	indent int // of the key
	filled bool
}

func (r *reader) report(line []byte, at int, message string) {
	if r.fault == nil {
		r.fault = &Fault{r.number, column(line, at), message}
	}
}

func column(line []byte, at int) int { return utf8.RuneCount(line[:at]) + 1 }

func (r *reader) reportOpen(o opener, message string) {
	if r.fault == nil {
		r.fault = &Fault{o.line, o.column, message}
	}
}

// end reports what is still open at the end of the document.
func (r *reader) end() {
	switch {
	case r.quote != nil:
		r.reportOpen(*r.quote, "the quote is not closed; write "+
			string(r.quote.char)+" at the end of the value")
	case len(r.flow) > 0:
		r.reportBracket()
	}
}

func (r *reader) isKnown(key []byte) bool { return slices.Contains(r.known, string(key)) }

// Parts of the parsers' messages that quote the document.
var (
	unknownAnchor = regexp.MustCompile(`unknown anchor '[^']*' referenced`)
	quotedValue   = regexp.MustCompile("(?s)`.*`")
	badKey        = regexp.MustCompile("(?s)(unsupported|invalid) map key.*")
)

// Message returns what a YAML parser's error says, without values, which may be secret.
func Message(err error) string {
	text := unknownAnchor.ReplaceAllString(err.Error(),
		"a value begins with * and names no anchor; write quotation marks around it")
	text = badKey.ReplaceAllString(text, "a key is not a string; write quotation marks around it")
	return quotedValue.ReplaceAllString(text, "a value")
}
