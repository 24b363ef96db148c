package term

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// Names tells the screen the words of the command line and other paths. A part of a path with a
// line break or a tab is shown with escapes from then on, so that a file's name forges no line of a
// message.
func (s *Screen) Names(words []string) {
	var parts []string
	for _, word := range words {
		for part := range strings.FieldsFuncSeq(word, endsPart) {
			if strings.ContainsAny(part, "\n\t") && strings.TrimSpace(part) != "" {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	// Of two parts at one place, the replacer takes the first one.
	slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, part := range parts {
		pairs = append(pairs, part, wording.Visible(part, ""))
	}
	s.names = strings.NewReplacer(pairs...)
}

// endsPart reports whether a character stands between two parts of a word: of a path, of a flag
// with its value, of a revision with its folder.
func endsPart(r rune) bool { return strings.ContainsRune(`/\=:`, r) }

// OneLine returns text with escapes in the names that w, if it is a screen, knows.
func OneLine(w io.Writer, text string) string {
	if s, ok := w.(*Screen); ok && s.names != nil {
		return s.names.Replace(text)
	}
	return text
}
