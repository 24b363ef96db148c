package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// Limits of a cluster.yaml. They bound time and memory. No real cluster comes near them.
const (
	maxBytes  = 4 << 20
	maxValues = 500_000
	maxDepth  = 100
	maxKeys   = 1000 // of one map
	maxItems  = 1000 // of one list, but for machines
	maxNodes  = 10_000
	// A pool is a kind of machine: a size, a zone, a purpose. Large clusters have some tens.
	maxPools = 100
)

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

const noDocument = "no configuration found; `kiln init` writes a first cluster.yaml"

// readDocument turns data into the map of its only document. It reports everything that is wrong
// with the file as YAML. It returns nil if there is no map.
func readDocument(data []byte, r *reporter) *yaml.Node {
	if len(data) > maxBytes {
		r.add(0, 0, "", fmt.Sprintf("has %d bytes; at most 4 MiB (%d) are read. "+
			"Put long strings into files and name them with contentFrom", len(data), maxBytes))
		return nil
	}
	data, ok := decodeText(data, r)
	if !ok {
		return nil
	}
	if n := countValues(data); n > maxValues {
		r.add(0, 0, "", fmt.Sprintf("has about %d lines and list items; at most %d are read. "+
			"Split the machines into several clusters, or put long strings into files",
			n, maxValues))
		return nil
	}

	lines := &lineReader{rest: data}
	dec := yaml.NewDecoder(lines)
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.add(0, 0, "", noDocument)
		return nil
	case err != nil:
		reportSyntax(err, data, lines.count, r)
		return nil
	}
	root, second := doc.Content[0], secondDocument(dec, lines)
	if second > 0 || root.Kind != yaml.MappingNode {
		// A mark of a merge conflict in the first line begins a text, which ends where a line is
		// indented less.
		if fault, ok := yamltext.FindFault(data, fieldNames()); ok {
			r.add(fault.Line, fault.Column, "", fault.Message)
			return nil
		}
	}
	if second > 0 {
		r.add(second, 1, "", "a second document begins here; one file describes one cluster. "+
			"Keep the document of kind Cluster, and remove the others")
	}
	return rootMap(root, r)
}

// secondDocument returns the line where another document begins behind the first one, 0 if there is
// none. A mark of a document alone begins none.
func secondDocument(dec *yaml.Decoder, lines *lineReader) (line int) {
	for {
		var next yaml.Node
		switch err := dec.Decode(&next); {
		case errors.Is(err, io.EOF):
			return 0
		case err != nil:
			return lines.count
		case !isNull(next.Content[0]):
			return next.Line
		}
	}
}

// rootMap returns the outermost value of a document if it is a map with keys. It reports anything
// else and returns nil.
func rootMap(root *yaml.Node, r *reporter) *yaml.Node {
	isMap := root.Kind == yaml.MappingNode
	switch {
	case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null",
		isMap && len(root.Content) == 0:
		r.add(0, 0, "", noDocument)
		return nil
	case !isMap:
		r.add(root.Line, root.Column, "",
			"want a map that begins with apiVersion: "+APIVersion+", got "+aKind(root))
		return nil
	}
	return root
}

// decodeText returns data without a byte order mark. It reports the mark, another encoding than
// UTF-8 and characters that do not belong in a text. ok reports whether data can be read as YAML.
func decodeText(data []byte, r *reporter) (text []byte, ok bool) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.add(1, 1, "", "is UTF-16; save the file as UTF-8")
		return nil, false
	}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		r.add(1, 1, "", "begins with a byte order mark (U+FEFF); save the file as UTF-8 without it")
		data = data[len(byteOrderMark):]
	}
	return data, checkText(data, r)
}

// maxBrokenLines is how many lines with characters that do not belong in a text have a problem
// each. A file with more is not a text in UTF-8, and has one problem.
const maxBrokenLines = 5

// checkText reports broken UTF-8 and control characters. ok reports whether there are none.
func checkText(data []byte, r *reporter) (ok bool) {
	before := len(r.found)
	if ok = checkLines(data, r); len(r.found)-before > maxBrokenLines {
		r.found = r.found[:before+1]
		r.found[before].Message = "is not a text in UTF-8: this line and many others have bytes " +
			"that do not belong there; name the configuration, or save the text as UTF-8"
	}
	return ok
}

// checkLines is checkText with a problem for each line.
func checkLines(data []byte, r *reporter) (ok bool) {
	ok = true
	line, start := 1, 0
	for i := 0; i < len(data) && len(r.found) <= maxProblems; {
		c := data[i]
		if c == '\n' {
			line, start = line+1, i+1
		}
		if c >= ' ' && c < utf8.RuneSelf && c != 0x7f || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		ru, size := utf8.DecodeRune(data[i:])
		column := utf8.RuneCount(data[start:i]) + 1
		switch {
		case ru == utf8.RuneError && size == 1:
			r.add(line, column, "", fmt.Sprintf("byte 0x%02x is not valid UTF-8; save the file as "+
				"UTF-8, and put binary content into a file named by contentFrom", c))
		case isControl(ru):
			r.add(line, column, "", fmt.Sprintf("control character U+%04X; remove it, "+
				"and put binary content into a file named by contentFrom", ru))
		default:
			i += size
			continue
		}
		ok = false
		i = lineEnd(data, i) // one problem of a line is enough
	}
	return ok
}

func lineEnd(data []byte, i int) int {
	if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(data)
}

// countValues returns at least the number of values of a document. yaml.v3 needs some 200 bytes for
// each, so a file of 4 MiB could need half a gigabyte.
func countValues(data []byte) int {
	n := 0
	for _, c := range data {
		switch c {
		case '\n', ',', '[', '{':
			n++
		}
	}
	return n
}

// lineReader gives the parser one line at a time and counts the lines. For some mistakes yaml.v3
// names no line, and for others the line where the list around them begins: then the count is a
// better one.
type lineReader struct {
	rest  []byte
	count int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := lineEnd(r.rest, 0)
	if n < len(r.rest) {
		n++
	}
	if n = copy(p, r.rest[:n]); r.rest[n-1] == '\n' {
		r.count++
	}
	r.rest = r.rest[n:]
	return n, nil
}

// Parts of the parser's messages.
var (
	yamlLine      = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '([^']*)' referenced`)
)

// reportSyntax turns an error of the YAML parser into a problem with advice. reached is the last
// line that the parser has read.
func reportSyntax(err error, data []byte, reached int, r *reporter) {
	line, message := 1, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	if strings.Contains(message, "exceeded max depth") {
		r.add(line, 0, "",
			fmt.Sprintf("is nested too deeply; at most %d levels are read", maxDepth))
		return
	}
	if fault, ok := yamltext.FindFault(data, fieldNames()); ok {
		r.add(fault.Line, fault.Column, "", fault.Message)
		return
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		line = aliasLine(data, reached, m[1])
		at := bytes.Index(lineAt(data, line), []byte("*"+m[1])) + 1
		r.add(line, max(at, 1), "", "aliases are not allowed; write the value out")
		return
	}
	if strings.HasPrefix(message, "did not find expected") {
		line = max(line, reached)
	}
	column := yamltext.Indentation(lineAt(data, line))
	r.add(line, column, "", fmt.Sprintf("is not valid YAML (%s); "+
		"check indentation, brackets and quotes here and on the line before", message))
}

// aliasLine returns the last line up to reached with an alias of that name. The parser names no
// line for it, and has read only a little further.
func aliasLine(data []byte, reached int, name string) int {
	for line := reached; line > 1; line-- {
		if bytes.Contains(lineAt(data, line), []byte("*"+name)) {
			return line
		}
	}
	return 1
}

// lineAt returns the text of a line. The first line is 1.
func lineAt(data []byte, line int) []byte {
	for ; line > 1; line-- {
		data = data[min(len(data), lineEnd(data, 0)+1):]
	}
	return data[:lineEnd(data, 0)]
}
