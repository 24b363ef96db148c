package yamltext

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// breaks are what ends a line in YAML 1.1, which the parsers of Kubernetes read.
var breaks = [][]byte{[]byte("\n"), []byte("\r"), []byte("\u0085"), []byte("\u2028"),
	[]byte("\u2029")}

// mark is the place of a line of --- or ... in a stream.
type mark struct {
	at    int
	ends  bool // it is ..., which begins no document
	clear bool // it is at the beginning or behind a newline, so that every reader sees it
}

// marks returns the marks of a stream as YAML has them: at the beginning of a line, with white
// space or the end of the line behind them. Nothing but a document of its own can be there.
func marks(stream []byte) (list []mark) {
	isBegin := func(before []byte) bool {
		return len(before) == 0 || string(before) == "\ufeff" ||
			slices.ContainsFunc(breaks, func(b []byte) bool { return bytes.HasSuffix(before, b) })
	}
	isBlank := func(after []byte) bool {
		return len(after) == 0 || after[0] == ' ' || after[0] == '\t' ||
			slices.ContainsFunc(breaks, func(b []byte) bool { return bytes.HasPrefix(after, b) })
	}
	for i, c := range stream {
		if (c == '-' || c == '.') && i+3 <= len(stream) && stream[i+1] == c &&
			stream[i+2] == c && isBegin(stream[:i]) && isBlank(stream[i+3:]) {
			list = append(list, mark{
				at: i, ends: c == '.', clear: i == 0 || stream[i-1] == '\n',
			})
		}
	}
	return list
}

// behind returns what stands behind a mark, and reports whether that is more than a comment.
func behind(text []byte) (line []byte, more bool) {
	end := len(text)
	for _, b := range breaks {
		if i := bytes.Index(text[:end], b); i >= 0 {
			end = i
		}
	}
	value := bytes.Trim(text[:end], " \t")
	return text[:end], len(value) > 0 && value[0] != '#'
}

// Split divides a stream into its documents as YAML does, and leaves out the empty ones. They
// keep their comments, save for one behind ---, and what stands behind --- in its line is a part
// of the document.
func Split(stream []byte) (documents [][]byte) {
	for _, p := range Parts(stream) {
		documents = append(documents, p.Text)
	}
	return documents
}

// Part is a document of a stream.
type Part struct {
	Text []byte
	Line int // where it begins, from 1
}

// Parts does what Split does, and says where each document begins.
func Parts(stream []byte) (parts []Part) {
	line, counted := 1, 0
	add := func(at int, doc []byte) {
		line, counted = line+bytes.Count(stream[counted:at], []byte("\n")), at
		if len(bytes.TrimSpace(doc)) > 0 {
			parts = append(parts, Part{doc, line})
		}
	}
	list := marks(stream)
	for i, m := range list {
		if i == 0 {
			add(0, stream[:m.at])
		}
		at := m.at // of the line with what is left
		rest := stream[m.at+3:]
		if i+1 < len(list) {
			rest = stream[m.at+3 : list[i+1].at]
		}
		if line, more := behind(rest); more { // no document may begin with a tab, or with ---
			rest = slices.Concat([]byte(" "), bytes.TrimLeft(rest, " \t"))
		} else {
			before := len(rest)
			rest = bytes.TrimPrefix(rest[len(line):], []byte("\r"))
			rest = bytes.TrimPrefix(rest, []byte("\n"))
			at = m.at + 3 + before - len(rest)
		}
		add(at, rest)
	}
	if len(list) == 0 {
		add(0, stream)
	}
	return parts
}

// divided returns the first place where readers divide a stream in different ways, or leave
// something out: kustomize drops what stands behind --- in its line, and knows neither ... nor all
// breaks of lines.
func divided(stream []byte) *Excess {
	if bytes.IndexByte(stream, 0) >= 0 {
		return &Excess{1, 1, "the file is not UTF-8; write it as UTF-8, without zeros"}
	}
	list := marks(stream)
	for i, m := range list {
		next := len(stream)
		if i+1 < len(list) {
			next = list[i+1].at
		}
		line, more := behind(stream[m.at+3:])
		after := bytes.TrimPrefix(stream[m.at+3+len(line):], []byte("\r"))
		why := ""
		switch {
		case !m.clear || len(after) > 0 && after[0] != '\n':
			why = "a document begins behind a line that does not end with a newline; end lines " +
				"with newlines, and write no byte order mark"
		case more && !m.ends:
			why = unclear
		case m.ends && hasContent(stream[m.at+3:next]):
			why = "a document begins behind a line of ... without a line of ---; write --- in " +
				"place of ..."
		}
		if why != "" {
			return &Excess{bytes.Count(stream[:m.at], []byte("\n")) + 1, 1, why}
		}
	}
	return second(stream)
}

// second returns the first document in brackets with another value behind it.
func second(stream []byte) *Excess {
	for _, doc := range Split(stream) {
		text := bytes.TrimSpace(doc)
		for len(text) > 0 && text[0] == '#' {
			_, text, _ = bytes.Cut(text, []byte("\n"))
			text = bytes.TrimSpace(text)
		}
		if len(text) == 0 || !bytes.ContainsAny(text[:1], "{[!&\"'") {
			continue // a parser reads it to its end
		}
		decoder := yaml.NewDecoder(bytes.NewReader(doc))
		var value yaml.Node
		if decoder.Decode(&value) != nil {
			continue // it is not YAML, or empty
		}
		err := decoder.Decode(&value)
		if err == nil || !errors.Is(err, io.EOF) {
			at := bytes.Count(stream[:max(0, bytes.Index(stream, doc))], []byte("\n")) + 1
			return &Excess{at, 1, "the document that begins here is two, without a line of --- " +
				"between them; write --- there"}
		}
	}
	return nil
}

func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

const unclear = "a line of --- has more than a comment behind it; write that into the next " +
	"line, or indent the line if it begins no document"
