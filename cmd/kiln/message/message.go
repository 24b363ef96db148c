// Package message writes what the verbs have to say, in the forms that all of them share.
package message

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// MaxListed is how many machines, documents or files a report lists one by one.
const MaxListed = 50

// MaxNamed is how many names a sentence holds.
const MaxNamed = 5

// Printf writes a message. It drops the error of w: there is no other place to report it to.
func Printf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}

// Notes writes a line for each note.
func Notes(w io.Writer, notes []string) {
	for _, note := range notes {
		Printf(w, "kiln: %s\n", note)
	}
}

// JSON writes a report for programs, indented.
func JSON(w io.Writer, report any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// NonNil returns the list, or an empty one for nil, so that JSON shows [] and not null.
func NonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Count returns a number with its noun, in the singular for 1 and in the plural for every other number.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names returns the first MaxNamed names, and how many more there are.
func Names(names []string) string {
	if more := len(names) - MaxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MaxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// ShellWord returns a word of a command line that people paste, quoted if a shell would take it apart.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_./-", r)
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
