package yamltext

import (
	"bytes"
	"fmt"
	"regexp"
)

var (
	// keyStart matches a key without quotes and the colon behind it.
	keyStart = regexp.MustCompile(
		`^-?[^-\s"'#{}\[\],&*!|>%@` + "`" + `][^"'#{}\[\],]*?\s*:(?:\s|$)`)
	// quotedKey matches a key in quotes and the colon behind it.
	quotedKey = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*:(?:\s|$)`)
	// comment matches a comment, up to the end of the line.
	comment = regexp.MustCompile(`(^|\s)#.*$`)
	// literalStart matches the mark of a value that the following lines hold.
	literalStart = regexp.MustCompile(`^[|>][-+0-9]*\s*(#.*)?$`)
	// alias matches a whole alias.
	alias = regexp.MustCompile(`^\*[\w-]+\s*(#.*)?$`)
	// conflict matches what git writes into a file that it could not merge.
	conflict = regexp.MustCompile(`^(<{7}|={7}|>{7}|\|{7})( |$)`)
	// word matches the first word of a line.
	word = regexp.MustCompile(`^[^\s:]+`)
)

const noSpace = `the space behind the dash is missing; write "- "`

// IsConflict reports whether a line is what git writes into a file that it could not merge.
func IsConflict(line []byte) bool { return conflict.Match(line) }

func (r *reader) line(text []byte) {
	indent := len(text) - len(bytes.TrimLeft(text, " "))
	rest := text[indent:]
	blank := len(bytes.TrimSpace(rest)) == 0
	if l := r.literal; l != nil {
		if blank || indent > l.indent {
			l.filled = l.filled || !blank
			return
		}
		r.literal = nil
		if !l.filled && keyOf(rest) == nil && rest[0] != '-' {
			r.report(text, indent, fmt.Sprintf("the lines of the value behind | are indented "+
				"deeper than its key; indent this one by %d spaces", l.indent+2))
			return
		}
	}
	switch {
	case r.quote != nil:
		r.value(text, 0, indent)
		return
	case blank || rest[0] == '#':
		return
	case len(r.flow) > 0:
		if isDash(rest) || keyOf(rest) != nil && indent <= r.flow[0].indent {
			r.reportBracket()
			return
		}
		r.value(text, indent, indent)
		return
	case rest[0] == '\t':
		r.report(text, indent, "the indentation has a tab; YAML allows spaces only")
		return
	case IsConflict(rest):
		r.report(text, indent, "is a mark of a merge conflict; "+
			"keep one of the two sides, and remove the marks of git")
		return
	case indent == 0 && (bytes.HasPrefix(rest, []byte("---")) ||
		bytes.HasPrefix(rest, []byte("...")) || rest[0] == '%'):
		number := r.number
		*r = *newReader(r.known)
		r.number = number
		return
	}
	r.block(text, indent)
}

// block reads a line of a block map or list, from the byte at on.
func (r *reader) block(text []byte, at int) {
	for isDash(text[at:]) {
		if !r.place(text, at, true) {
			return
		}
		r.opened, r.plain = true, false
		next := at + 1
		for next < len(text) && text[next] == ' ' {
			next++
		}
		if next == len(text) || text[next] == '#' {
			return
		}
		at = next
	}
	rest, before := text[at:], r.alone
	r.alone = nil
	switch key := keyOf(rest); {
	case key != nil && before != nil && before.at == at && !r.opened && r.plain:
		r.reportAlone(before)
	case key != nil:
		if !r.place(text, at, false) {
			return
		}
		from := at + len(key)
		for from < len(text) && text[from] == ' ' {
			from++
		}
		r.opened, r.plain = false, false
		if from == len(text) || text[from] == '#' {
			r.opened = true
			return
		}
		r.value(text, from, at)
	case bytes.HasPrefix(rest, []byte("? ")) || bytes.HasPrefix(rest, []byte(": ")):
		r.opened = true // a key that is not a string, and its value
	case r.opened && at > r.indent():
		r.opened, r.alone = false, &alone{text, r.number, at}
		r.value(text, at, r.indent())
	case r.plain && at > r.indent():
		// The value of the line before goes on.
	default:
		r.reportNoKey(text, at)
	}
}

func isDash(text []byte) bool {
	return len(text) > 0 && text[0] == '-' && (len(text) == 1 || text[1] == ' ')
}

func keyOf(text []byte) []byte {
	for _, form := range []*regexp.Regexp{keyStart, quotedKey} {
		if m := form.Find(text); m != nil {
			return bytes.TrimRight(m, " \t")
		}
	}
	return nil
}

// indent returns the indentation of the innermost map or list, -1 if there is none.
func (r *reader) indent() int {
	if len(r.levels) == 0 {
		return -1
	}
	return r.levels[len(r.levels)-1].indent
}

// place finds the map or list to which a key or dash belongs by its indentation, or opens a new
// one. It reports an indentation that belongs to none. ok reports whether there was no fault.
func (r *reader) place(text []byte, indent int, list bool) (ok bool) {
	var left []level // the maps and lists that this line ends, innermost first
	for r.indent() > indent {
		last := len(r.levels) - 1
		left, r.levels = append(left, r.levels[last]), r.levels[:last]
	}
	if !list && r.indent() == indent && r.levels[len(r.levels)-1].list && len(r.levels) > 1 &&
		r.levels[len(r.levels)-2].indent == indent {
		r.levels = r.levels[:len(r.levels)-1] // a list may be indented like the key before it
	}
	switch {
	case r.indent() < indent && len(left) > 0:
		r.reportBetween(text, indent, left)
		return false
	case r.indent() < indent && !r.opened && len(r.levels) > 0:
		r.reportDeep(text, indent)
		return false
	case r.indent() < indent,
		list && !r.levels[len(r.levels)-1].list && r.opened:
		r.levels = append(r.levels, level{indent, list, r.number})
	case list != r.levels[len(r.levels)-1].list:
		switch {
		case list:
			r.report(text, indent, "an item of a list stands among the keys of a map; "+
				"indent it like the other items, or write its key on the line before it")
		case text[indent] == '-':
			r.report(text, indent, noSpace)
		default:
			r.report(text, indent, "a key stands among the items of a list; "+
				`write "- " before it, or indent it like the keys of the item above`)
		}
		return false
	default:
		r.levels[len(r.levels)-1].line = r.number
	}
	return true
}

// reportBetween reports an indentation between those of the maps and lists around the line.
func (r *reader) reportBetween(text []byte, indent int, left []level) {
	inner := left[len(left)-1]
	message := fmt.Sprintf("is indented by %s; write %d, as line %d",
		spaces(indent), inner.indent, inner.line)
	if len(r.levels) > 0 {
		outer := r.levels[len(r.levels)-1]
		message += fmt.Sprintf(", or %d, as line %d", outer.indent, outer.line)
	}
	r.report(text, indent, message)
}

// reportDeep reports a key that is indented deeper than a line that has a value already.
func (r *reader) reportDeep(text []byte, indent int) {
	top := r.levels[len(r.levels)-1]
	r.report(text, indent, fmt.Sprintf("is indented by %s, and line %d by %d, "+
		"which has a value already; indent both alike", spaces(indent), top.line, top.indent))
}

func spaces(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// reportAlone reports a line before the current one that was to be a key beside it.
func (r *reader) reportAlone(before *alone) {
	r.reportNoKey(before.text, before.at)
	r.fault.Line = before.number
}

func (r *reader) reportNoKey(text []byte, at int) {
	rest := bytes.TrimSpace(comment.ReplaceAll(text[at:], nil))
	first := word.Find(rest)
	behind := rest[len(first):]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		r.report(text, at, `a comment begins with "#"`)
	case rest[0] == '-' && len(rest) > 1:
		r.report(text, at, noSpace)
	case !r.isKnown(first):
		r.report(text, at, `has no key; write it like "key: value", `+
			"or indent it deeper than the key above if it belongs to its value")
	case len(behind) == 0:
		r.report(text, at, fmt.Sprintf(`the colon is missing; write "%s:"`, first))
	case bytes.HasPrefix(behind, []byte(":\u00a0")):
		r.report(text, at, "the space behind the colon is a no-break space (U+00A0), which YAML "+
			"takes for a part of the word; write a plain one")
	case behind[0] == ':':
		r.report(text, at, fmt.Sprintf(
			`the space behind the colon is missing; write "%s: " before the value`, first))
	default:
		r.report(text, at, fmt.Sprintf(
			`the colon is missing; write "%s: " before the value`, first))
	}
}
