package credential

import (
	"bytes"
	"iter"
	"regexp"
	"strings"
)

var (
	userKey = regexp.MustCompile(`(?m)(?:^[ \t]*(?:-[ \t]+)?|[{,]\s*)["']?user["']?[ \t]*:[ \t]*`)
	// userSecret are the fields of a kubeconfig's user that hold a secret: those of AuthInfo of
	// k8s.io/client-go v0.36, and those that its token providers (auth-provider) stored.
	userSecret = regexp.MustCompile(
		`(?m)(?:^[ \t]*|[{,]\s*)["']?` +
			`(token|password|access-token|id-token|refresh-token|client-secret)` +
			`["']?[ \t]*:[ \t]*["']?([^\s"',}#]+)`)
)

// kubeconfigUser matches a user with a token or a password in a kubeconfig at any depth.
func kubeconfigUser(text []byte) string {
	has := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	if !has("contexts") && !has("users") || !has("token") && !has("password") &&
		!has("client-secret") {
		return ""
	}
	for user := range blocks(text, userKey) {
		for _, found := range userSecret.FindAllSubmatch(user, -1) {
			if !placeholder.Match(found[2]) {
				what := "token"
				if string(found[1]) == "password" {
					what = "password"
				}
				return "a kubeconfig with a " + what
			}
		}
	}
	return ""
}

// blocks returns the value after each match of pattern: the text in braces, or the lines indented
// deeper than the key. It skips matches inside a block that it has returned.
func blocks(text []byte, pattern *regexp.Regexp) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		end := 0
		for _, at := range pattern.FindAllIndex(text, -1) {
			if at[1] < end {
				continue
			}
			size := bracesLength(text[at[1]:])
			if size == 0 {
				size = deeperLength(text[at[1]:], column(text[at[0]:at[1]]))
			}
			end = at[1] + size
			if !yield(text[at[1]:end]) {
				return
			}
		}
	}
}

// bracesLength returns the length of the braces that begin a text; 0 if none do.
func bracesLength(text []byte) int {
	depth := 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			if c == '}' {
				i++
			}
			return i
		}
	}
	return len(text)
}

// column returns the column of a key on its line, without the dash of a list before it.
func column(key []byte) int {
	return bytes.IndexFunc(key, func(r rune) bool { return !strings.ContainsRune(" \t\r\n-{,", r) })
}

// deeperLength returns the length of a line's rest with the deeper lines below it.
func deeperLength(text []byte, column int) int {
	end := 0
	for first := true; end < len(text); first = false {
		line, _, _ := bytes.Cut(text[end:], []byte("\n"))
		if rest := bytes.TrimLeft(line, " \t"); !first && len(bytes.TrimSpace(rest)) > 0 &&
			len(line)-len(rest) <= column {
			break
		}
		end = min(end+len(line)+1, len(text))
	}
	return end
}

var (
	documents  = regexp.MustCompile(`(?m)^---`)
	secretKind = regexp.MustCompile(`(?m)(?:^[ \t]*(?:-[ \t]+)?|[{,]\s*)` +
		`["']?kind["']?\s*:\s*["']?Secret["']?[ \t]*(?:$|[\r,}#])`)
	secretData = regexp.MustCompile(
		`(?m)(?:^[ \t]*|[{,]\s*)["']?(?:data|stringData)["']?[ \t]*:[ \t]*`)
	encrypted = regexp.MustCompile(`ENC\[[^\]]*\]`)
	value     = regexp.MustCompile(`(?m)(?:^[ \t]*|[{,]\s*)["']?[-._A-Za-z0-9]+["']?[ \t]*:` +
		`[ \t]*(?:[>|][+-]?\s+)?["']?([^\s"',}#]+)`)
)

// secretObject matches a Secret with values which sops has not encrypted.
func secretObject(text []byte) string {
	if !secretKind.Match(text) {
		return ""
	}
	for _, doc := range documents.Split(string(text), -1) {
		if !secretKind.MatchString(doc) {
			continue
		}
		for data := range blocks(encrypted.ReplaceAll([]byte(doc), nil), secretData) {
			for _, found := range value.FindAllSubmatch(data, -1) {
				if !placeholder.Match(found[1]) {
					return "a Secret with values"
				}
			}
		}
	}
	return ""
}
