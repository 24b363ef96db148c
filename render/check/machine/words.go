package machine

import (
	"strings"
	"unicode"
)

// commandFlags returns the values of each flag on a command line, in order. A flag is written
// --name=value, or --name value, or --name for true; one dash means the same as two.
func commandFlags(command []string) map[string][]string {
	flags := map[string][]string{}
	for i, word := range command {
		name, isFlag := strings.CutPrefix(word, "-")
		if !isFlag {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if next := i + 1; !found {
			value = "true"
			if next < len(command) && !strings.HasPrefix(command[next], "-") {
				value = command[next]
			}
		}
		flags[name] = append(flags[name], value)
	}
	return flags
}

// lastValue returns the last value of a flag, which is the one that counts; "" if there is none.
func lastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// SplitList returns the parts of a comma-separated value. An empty value has no parts.
func SplitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// SplitWords splits a line of a unit into words as systemd does (systemd.service(5), "Command
// lines"): quotes hold a word together, and a backslash takes away the special meaning of the next
// character.
func SplitWords(line string) (words []string) {
	var word strings.Builder
	var quote rune // 0 outside of quotes
	inWord, escaped := false, false
	for _, r := range strings.ReplaceAll(line, "\\\n", " ") + "\n" {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\':
			escaped, inWord = true, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case r == quote:
			quote = 0
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	return words
}
