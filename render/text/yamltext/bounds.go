// This file is the door for YAML and JSON that others wrote: it refuses what would cost
// long or large work in any parser behind it. Few bytes can stand for much work: an alias repeats a
// value, brackets lie in each other, a number has a large exponent. The package counts what a text
// would become, and expands nothing.
//
// A text that is not small has to be YAML: what nobody could count is refused. So are lines that
// readers divide into documents in different ways, and in a stream for kustomize also in a small
// one. Split divides a stream for all others. The package leaves to others what a text means,
// and whether a small one is YAML.

package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Use is what a text is read for. It decides how much the text may have.
type Use struct {
	Documents int
	Values    int // of one document, keys not counted and aliases expanded
	Keys      int // of one map; 0 is any number
	Elements  int // maps in one list; 0 is any number
	Added     int // bytes that aliases add to a document; 0 is no alias at all
	Levels    int // of values in each other
	// Stream refuses lines that readers divide into documents in different ways, also in a small
	// text.
	Stream bool
}

// The uses. The figures are several times what real texts have: the largest definitions of custom
// resources in use (Argo CD's ApplicationSet, KServe's InferenceService, Prometheus) have about
// 1 MiB, some 20,000 lines with a value and 60 levels. etcd takes no object above 1.5 MiB.
var (
	// Object is a stream of objects that a machine or the API server receives as they are. All
	// add-ons may have 1000 objects together; empty documents come from charts of Helm. kustomize
	// sorts them, and looks for each key in the whole map.
	Object = Use{
		Documents: 10_000, Values: 50_000, Keys: 2000, Added: 1 << 20, Levels: maxLevels,
	}
	// Addon is an Object that kustomize may read too.
	Addon = Use{
		Documents: 10_000, Values: 50_000, Keys: 2000, Added: 1 << 20, Levels: maxLevels,
		Stream: true,
	}
	// Resource is what kustomize patches. It looks for each map of a list in the whole list.
	Resource = Use{
		Documents: 10_000, Values: 50_000, Keys: 2000, Elements: 1000, Added: 1 << 20,
		Levels: maxLevels, Stream: true,
	}
	// Patch is a patch or a kustomization. A patch is applied to the objects of each machine. A
	// pod with some hundred variables is large.
	Patch = Use{
		Documents: 1000, Values: 10_000, Keys: 500, Elements: 500, Added: 64 << 10,
		Levels: maxLevels, Stream: true,
	}
	// Butane is a Butane config. A machine has some hundred files and units.
	Butane = Use{
		Documents: 1000, Values: 10_000, Keys: 500, Added: 64 << 10, Levels: maxLevels,
	}
	// Compared is a content that kiln diff compares value by value. The comparison bounds the paths
	// of values that lie deep.
	Compared = Use{Documents: 10_000, Values: 50_000, Added: 1 << 20, Levels: parserLevels}
	// Bundle is a bundle or its public half. Ten thousand machines with a token each have some
	// 50,000 values.
	Bundle = Use{Documents: 2, Values: 200_000, Levels: maxLevels}
	// Kubeconfig is a file for clients of the API server. Each of its clusters, users and contexts
	// has some five values.
	Kubeconfig = Use{Documents: 2, Values: 50_000, Added: 64 << 10, Levels: maxLevels}
)

const (
	maxBytes  = 24 << 20 // an add-on may have 16 MiB, and its objects may be written longer
	maxLevels = 200      // YAML is indented: its size grows with the square of the depth

	parserLevels = 10_000 // the parser's own bound

	// maxMarks is how many characters of a document may begin a value. The parser takes some 200
	// bytes for each value. A string may have such characters too, so this is more than Values.
	maxMarks = 600_000
)

// Excess is the first place where a text has too much.
type Excess struct {
	Line, Column int // 1-based
	Message      string
}

// Error returns the place and the message, so that the name of a file and a colon fit before it.
func (e *Excess) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Check returns what Find returns, as an error.
func (u Use) Check(stream []byte) error {
	if e := u.Find(stream); e != nil {
		return e
	}
	return nil
}

// Find returns the first excess of a stream of documents, nil if it has none.
func (u Use) Find(stream []byte) *Excess {
	if len(stream) > maxBytes {
		return &Excess{1, 1, fmt.Sprintf("%d bytes are more than can be read; at most %d MiB; "+
			"divide the file", len(stream), maxBytes>>20)}
	}
	line, documents, small := 0, 0, isSmall(stream)
	for part := range parts(stream) {
		if documents++; documents > u.Documents {
			return &Excess{line + 1, 1, fmt.Sprintf("more than %d documents; "+
				"remove the empty ones, or divide the file", u.Documents)}
		}
		if (u.Stream || !small) && isUnclear(part) {
			return &Excess{line + 1, 1, unclear}
		}
		if e := u.part(part); e != nil {
			e.Line += line
			return e
		}
		line += bytes.Count(part, []byte("\n"))
	}
	if u.Stream {
		return divided(stream)
	}
	return nil
}

// parts yields the parts of a stream that begin with a line of ---. No reader divides a stream
// into more but at breaks of lines that are no newlines (divided): kustomize takes any line that
// begins with ---.
func parts(stream []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(stream) > 0 {
			end := bytes.Index(stream, []byte("\n---")) + 1
			if end == 0 {
				end = len(stream)
			}
			if !yield(stream[:end]) {
				return
			}
			stream = stream[end:]
		}
	}
}

// isUnclear reports whether a part begins with a line that not all readers take for the same: some
// divide a string there, and some leave out what stands behind ---, though YAML has a value there.
func isUnclear(part []byte) bool {
	rest, ok := bytes.CutPrefix(part, []byte("---"))
	if !ok {
		return false
	}
	rest, _, _ = bytes.Cut(rest, []byte("\n"))
	value := bytes.Trim(rest, " \t\r")
	return len(value) > 0 && (value[0] != '#' || rest[0] == '#')
}

func (u Use) part(text []byte) *Excess {
	if n := countMarks(text); n > maxMarks {
		return &Excess{1, 1, fmt.Sprintf("the document has about %d lines and elements of lists; "+
			"at most %d are read; divide it", n, maxMarks)}
	}
	if isSmall(text) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var root yaml.Node
		if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return u.unreadable(text, err)
		}
		for _, value := range root.Content {
			if e := u.Node(value); e != nil {
				return e
			}
		}
	}
}

// Node returns the first excess of a value that has been parsed, nil if it has none.
func (u Use) Node(value *yaml.Node) *Excess {
	c := &count{use: u, sizes: map[*yaml.Node]size{}}
	c.node(value)
	return c.excess
}

// countMarks returns at least the number of values, save for those in each other in one line.
func countMarks(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{':
			n++
		case '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				n++
			}
		}
	}
	for _, end := range []string{"\u0085", "\u2028", "\u2029"} { // they end lines too
		n += bytes.Count(text, []byte(end))
	}
	return n
}

// A text below these figures needs no parser to be within the bounds of every use. Nearly every
// file of a machine is.
const (
	smallBytes = 10_000 // fewer bytes than a number may have digits
	smallMarks = 400    // fewer than a map may have keys
	smallDepth = 60     // brackets, and characters before a value: each of these may be a level
)

// tiny matches a number with an exponent that makes it tiny.
var tiny = regexp.MustCompile(`[eE]-[0-9]{3}`)

// isSmall reports whether a text has no excess for sure. One with zeros may be UTF-16.
func isSmall(text []byte) bool {
	if len(text) > smallBytes || countMarks(text) > smallMarks ||
		bytes.ContainsAny(text, "*\x00") ||
		bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > smallDepth {
		return false
	}
	run := 0 // wherever a line begins
	for _, c := range text {
		switch c {
		case ' ', '\t', '-', '?', ':':
			if run++; run > smallDepth {
				return false
			}
		default:
			run = 0
		}
	}
	return !tiny.Match(text)
}

var atLine = regexp.MustCompile(`line (\d+): `)

// unreadable returns why a parser's error makes a text too much to read, without its values.
func (u Use) unreadable(text []byte, err error) *Excess {
	e := &Excess{1, 1, "the file is not valid YAML; correct it"}
	if m := atLine.FindStringSubmatch(err.Error()); m != nil { // none in the first line
		e.Line, _ = strconv.Atoi(m[1])
	}
	if strings.Contains(err.Error(), "exceeded max depth") {
		e.Message = u.levelsMessage()
		return e
	}
	fault, ok := Template(text)
	if !ok {
		fault, ok = FindFault(text, nil)
	}
	if ok {
		return &Excess{fault.Line, fault.Column, fault.Message}
	}
	return e
}

func (u Use) levelsMessage() string {
	return fmt.Sprintf("more than %d levels lie in each other here; no object of Kubernetes needs "+
		"that many", u.Levels)
}
