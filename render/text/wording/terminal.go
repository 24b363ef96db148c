// This file makes strings safe to print: a terminal shows all of them and obeys nothing in
// them. A configuration or a document may come from another person. Strings in it may move the
// cursor, change the window's title, or show the end of a line before its beginning.

package wording

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text with every invisible character replaced by an escape: control characters,
// format characters (U+202E, U+200B), line separators, fillers (U+3164), bytes that are not UTF-8.
// It keeps the characters in keep. The escapes are JSON's (\u001b), so that JSON keeps its meaning.
// A second call changes nothing.
func Visible(text, keep string) string {
	if strings.IndexFunc(text, func(r rune) bool { return hidden(r) || r == utf8.RuneError }) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && strings.HasPrefix(text[i:], string(utf8.RuneError)):
			b.WriteRune(r)
		case r == utf8.RuneError:
			// JSON has no escape for a byte, but no such bytes either.
			b.WriteString(`\x` + hex(rune(text[i]), 2))
		case !hidden(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			b.WriteString(`\u` + hex(0xd800+r>>10, 4) + `\u` + hex(0xdc00+r&0x3ff, 4))
		default:
			b.WriteString(`\u` + hex(r, 4))
		}
	}
	return b.String()
}

// VisibleLine returns the first characters of text, Visible on one line, without blanks around it.
func VisibleLine(text string, most int) string {
	text = strings.TrimSpace(text)
	for i := range text {
		if most--; most < 0 {
			return Visible(text[:i], "") + "…"
		}
	}
	return Visible(text, "")
}

// hidden reports whether a character is invisible. Blanks count as visible. Some letters and marks
// are not: fillers of Hangul, the joiner U+034F, variation selectors, and the empty Braille pattern
// (Default_Ignorable_Code_Point in https://www.unicode.org/reports/tr44/tr44-34.html).
func hidden(r rune) bool {
	const emptyBraille = '\u2800'
	return !unicode.IsGraphic(r) || r == emptyBraille ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func hex(r rune, digits int) string {
	text := make([]byte, digits)
	for i := range text {
		text[digits-1-i] = "0123456789abcdef"[r>>(4*i)&15]
	}
	return string(text)
}
