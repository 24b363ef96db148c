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
)

// Limits of a cluster.yaml. They bound time and memory, and lie far beyond what a cluster needs.
const (
	maxBytes   = 4 << 20
	maxValues  = 500_000
	maxDepth   = 100
	maxKeys    = 1000 // of one mapping
	maxNodes   = 10_000
	byteOrder  = "\xef\xbb\xbf"
	noDocument = "no configuration found; `kiln init` writes a first cluster.yaml"
)

// source is the file that a Cluster was read from, and the files that it names.
type source struct {
	name    string
	root    *yaml.Node                   // the document's mapping
	texts   map[string][]byte            // by clean slash path
	folders map[string]map[string][]byte // by clean slash path of the folder
}

// readDocument turns data into the mapping of its only document. It reports what is wrong with the text as such and
// returns nil if there is no mapping to go on with.
func readDocument(data []byte, r *reporter) *yaml.Node {
	if len(data) > maxBytes {
		r.add(0, 0, "", fmt.Sprintf("has %d bytes; at most 4 MiB (%d) are read. Put long strings into files and name them with contentFrom", len(data), maxBytes))
		return nil
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.add(1, 1, "", "is UTF-16; save the file as UTF-8")
		return nil
	}
	if bytes.HasPrefix(data, []byte(byteOrder)) {
		r.add(1, 1, "", "begins with a byte order mark (U+FEFF); save the file as UTF-8 without it")
		data = data[len(byteOrder):]
	}
	if !checkText(data, r) {
		return nil
	}
	if n := countValues(data); n > maxValues {
		r.add(0, 0, "", fmt.Sprintf("has about %d lines and list items; at most %d are read. Split the machines into several clusters, or put long strings into files", n, maxValues))
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
	root := doc.Content[0]

	var next yaml.Node
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		line := lines.count
		if err == nil {
			line = next.Line
		}
		r.add(line, 0, "", "a second document begins here; one file describes one cluster. Remove everything from the --- on")
	}

	switch {
	case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null",
		root.Kind == yaml.MappingNode && len(root.Content) == 0:
		r.add(0, 0, "", noDocument)
		return nil
	case root.Kind != yaml.MappingNode:
		r.add(root.Line, root.Column, "", "want a map that begins with apiVersion: "+APIVersion+", got "+aKind(root))
		return nil
	}
	return root
}

// checkText reports bytes that no text has: broken UTF-8 and control characters. It returns whether YAML can be read.
func checkText(data []byte, r *reporter) bool {
	ok := true
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
			r.add(line, column, "", fmt.Sprintf("byte 0x%02x is not valid UTF-8; save the file as UTF-8, and put binary content into a file named by contentFrom", c))
		case isControl(ru):
			r.add(line, column, "", fmt.Sprintf("control character U+%04X; remove it, and put binary content into a file named by contentFrom", ru))
		default:
			i += size
			continue
		}
		ok = false
		i = nextLine(data, i) // one report for a line is enough
	}
	return ok
}

// isControl says whether a character is none of a text's. Tabs and line ends are checked where they matter.
func isControl(ru rune) bool {
	return ru < ' ' && ru != '\n' && ru != '\t' && ru != '\r' || ru >= 0x7f && ru < 0xa0 && ru != 0x85 || ru == 0xfeff
}

// nextLine returns the index of the line end at or after i.
func nextLine(data []byte, i int) int {
	if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(data)
}

// countValues estimates from above how many values a document has. yaml.v3 needs some 200 bytes for each, so a file of
// 4 MiB could otherwise ask for half a gigabyte.
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

// lineReader gives the parser one line at a time, so that the count tells how far it came: yaml.v3 names no line for
// some mistakes, and for others the line where the surrounding list began.
type lineReader struct {
	rest  []byte
	count int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := nextLine(r.rest, 0)
	if n < len(r.rest) {
		n++
	}
	if n = copy(p, r.rest[:n]); r.rest[n-1] == '\n' {
		r.count++
	}
	r.rest = r.rest[n:]
	return n, nil
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '([^']*)' referenced`)
)

// reportSyntax turns an error of the YAML parser, which read as far as line reached, into a problem with advice.
func reportSyntax(err error, data []byte, reached int, r *reporter) {
	line, message := 1, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		// The parser names no line. It has read little further than the alias.
		for line = reached; line > 1 && !bytes.Contains(lineAt(data, line), []byte("*"+m[1])); line-- {
		}
		r.add(line, 0, "", "aliases are not allowed; write the value out")
		return
	}
	if tab := tabLine(data, max(reached, line)); tab > 0 && strings.Contains(message, "character") {
		r.add(tab, 0, "", "a tab stands in the indentation; YAML allows spaces only")
		return
	}
	if strings.HasPrefix(message, "did not find expected") {
		line = max(line, reached)
	}
	advice := "check indentation, brackets and quotes here and on the line before"
	switch {
	case strings.Contains(message, "exceeded max depth"):
		r.add(line, 0, "", fmt.Sprintf("is nested too deeply; at most %d levels are read", maxDepth))
		return
	case strings.Contains(message, "mapping values are not allowed"):
		advice = `check the indentation, and put a string that contains ": " into quotes`
	case strings.Contains(message, "cannot start any token"):
		advice = "put a string that begins with @, ` or % into quotes"
	case strings.Contains(message, "unexpected end of stream"):
		advice = "a quote or bracket is not closed"
	case strings.Contains(message, "escape"):
		advice = `in double quotes a backslash is written \\; single quotes take it as it is`
	}
	r.add(line, 0, "", fmt.Sprintf("is not valid YAML (%s); %s", message, advice))
}

// tabLine returns the last line up to reached that is indented with a tab, or 0.
func tabLine(data []byte, reached int) int {
	found, line := 0, 1
	for len(data) > 0 && line <= reached {
		text := data[:nextLine(data, 0)]
		trimmed := bytes.TrimLeft(text, " -")
		if len(trimmed) > 0 && trimmed[0] == '\t' {
			found = line
		}
		data = data[min(len(data), len(text)+1):]
		line++
	}
	return found
}

// lineAt returns the text of a line, counted from 1.
func lineAt(data []byte, line int) []byte {
	for ; line > 1; line-- {
		data = data[min(len(data), nextLine(data, 0)+1):]
	}
	return data[:nextLine(data, 0)]
}
