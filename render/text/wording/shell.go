// Package wording has small things about text that every wing needs: nouns with numbers,
// suggestions for misspelt words, characters that a terminal obeys, words of sh, quantities, joined
// errors, and the lines in which two texts differ.
package wording

import "strings"

// ShellWord returns a word for a command, quoted if it is empty or a shell would change it.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_./:-@+,%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// WithoutComments returns a program without the lines that are comments, except its first.
func WithoutComments(program string) string {
	var b strings.Builder
	for line := range strings.Lines(program) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") || strings.HasPrefix(line, "#!") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// JoinLines returns lines, each with its end.
func JoinLines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}
