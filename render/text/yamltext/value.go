package yamltext

import (
	"bytes"
	"fmt"
	"strings"
)

type bracket struct {
	opener
	begun bool // its current entry has begun
	colon bool // its current entry has a colon
}

// value reads a value from at on, or goes on with one. indent is that of the key.
func (r *reader) value(text []byte, at, indent int) {
	rest := text[at:]
	switch {
	case len(r.flow) > 0:
		r.tail(text, r.brackets(text, at), "bracket")
	case r.quote != nil:
		r.tail(text, r.closeQuote(text, at), "quote")
	case literalStart.Match(rest):
		r.literal = &literal{indent: indent}
	case rest[0] == '"' || rest[0] == '\'':
		r.quote = r.opener(text, at, indent)
		r.tail(text, r.closeQuote(text, at+1), "quote")
	case rest[0] == '[' || rest[0] == '{':
		r.flow = append(r.flow, bracket{opener: *r.opener(text, at, indent)})
		r.tail(text, r.brackets(text, at+1), "bracket")
	case strings.IndexByte("@`%", rest[0]) >= 0, rest[0] == '*' && !alias.Match(rest):
		r.report(text, at, fmt.Sprintf(
			"a value that begins with %c needs quotes; put the whole value into quotes", rest[0]))
	case rest[0] == '&' || rest[0] == '!' || rest[0] == '*':
		r.opened = true // the value may follow on the next line
	default:
		r.plain = true
		value := comment.ReplaceAll(rest, nil)
		if bytes.Contains(value, []byte(": ")) || bytes.HasSuffix(value, []byte(":")) {
			r.report(text, at, `a value that contains ": " needs quotes; `+
				"put the whole value into quotes")
		}
	}
}

// opener returns a quote or bracket at a byte of the current line.
func (r *reader) opener(text []byte, at, indent int) *opener {
	return &opener{text[at], r.number, column(text, at), indent}
}

// tail reports what stands behind the end of a value in quotes or brackets. It does nothing if at
// is negative: the value goes on in the next line.
func (r *reader) tail(text []byte, at int, end string) {
	if at < 0 {
		return
	}
	rest := comment.ReplaceAll(text[at:], nil)
	if len(bytes.TrimSpace(rest)) > 0 {
		at += len(rest) - len(bytes.TrimLeft(rest, " \t"))
		message := "more stands behind the closing " + end + "; remove it"
		if end == "quote" {
			message += ", or put the whole value into one pair of quotes"
		}
		r.report(text, at, message)
	}
}

// closeQuote goes on with an open quote, and returns the index behind it, -1 without an end.
func (r *reader) closeQuote(text []byte, at int) int {
	const escapes = "0abt\tnvfre \"/\\N_LPxuU"
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\\' && r.quote.char == '"':
			if at++; at < len(text) && strings.IndexByte(escapes, text[at]) < 0 {
				r.report(text, at-1, `in double quotes a backslash is written \\; `+
					"single quotes take it as it is")
				return -1
			}
		case c != r.quote.char:
		case c == '\'' && at+1 < len(text) && text[at+1] == '\'':
			at++
		default:
			r.quote = nil
			return at + 1
		}
	}
	return -1
}

// brackets goes on within open brackets, as closeQuote does in a quote.
func (r *reader) brackets(text []byte, at int) int {
	start := at // of the current word
	for at < len(text) {
		if r.quote != nil {
			if at = r.closeQuote(text, at); at < 0 {
				return -1
			}
			continue
		}
		inner := &r.flow[len(r.flow)-1]
		switch c := text[at]; {
		case c == '#' && (at == 0 || text[at-1] == ' '):
			return -1
		case (c == '"' || c == '\'') && at == start:
			r.quote = r.opener(text, at, inner.indent)
			inner.begun = true
		case c == '[' || c == '{':
			inner.begun = true
			r.flow = append(r.flow, bracket{opener: *r.opener(text, at, inner.indent)})
			start = at + 1
		case c == ']' || c == '}':
			if (c == ']') != (inner.char == '[') {
				r.reportBracket()
				return -1
			}
			if r.flow = r.flow[:len(r.flow)-1]; len(r.flow) == 0 {
				return at + 1
			}
			start = at + 1
		case c == ',':
			if !inner.begun {
				r.report(text, at, "a comma too many; remove it")
				return -1
			}
			inner.begun, inner.colon, start = false, false, at+1
		case c == ':' && (at+1 == len(text) || strings.IndexByte(" ,]}", text[at+1]) >= 0):
			if inner.colon {
				r.report(text, lastWord(text, start, at),
					"a comma is missing before this key; or put a value that contains "+
						`": " into quotes`)
				return -1
			}
			inner.colon, start = true, at+1
		case c == ' ' && start == at:
			start++
		case c != ' ':
			inner.begun = true
		}
		at++
	}
	return -1
}

// lastWord returns the index of the last word between two bytes.
func lastWord(text []byte, start, end int) int {
	return start + bytes.LastIndexByte(bytes.TrimRight(text[start:end], " "), ' ') + 1
}

func (r *reader) reportBracket() {
	inner := r.flow[len(r.flow)-1]
	message := "the [ is not closed; write ] behind its last item"
	if inner.char == '{' {
		message = "the { is not closed; write } behind its last field"
	}
	r.reportOpen(inner.opener, message)
}
