package config

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"kiln.dev/kiln/render/text/credential"
)

// withheld replaces a value in a message that may be a secret.
const withheld = "(value withheld)"

// Patterns of what may be a secret: tokens of any kind, long runs of mixed letters and digits,
// users in URLs. They match more than package credential finds, because nothing is refused for
// them.
var (
	tokenLike = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|eyJ[\w-]{8,}\.[\w-]+|` +
		`\b(gh[pousr]_|github_pat_|glpat-|xox[abp]-|AKIA|ASIA|hvs\.)[\w-]{8,}`)
	longRun   = regexp.MustCompile(`[A-Za-z0-9+/=_-]{32,}`)
	userInURL = regexp.MustCompile(`//[^/@\s]*@|[^\s/@:]+:[^\s/@]+@`)
)

// looksSecret reports whether a value might be a secret, so that no message may repeat it. In doubt
// it is one.
func looksSecret(s string) bool {
	if _, ok := credential.Find([]byte(s)); ok {
		return true
	}
	if tokenLike.MatchString(s) || userInURL.MatchString(s) {
		return true
	}
	for _, run := range longRun.FindAllString(s, -1) {
		mixed := strings.ToLower(run) != run && strings.ToUpper(run) != run
		if mixed && strings.ContainsAny(run, "0123456789") {
			return true
		}
	}
	return false
}

// Quote returns a value as a message may show it: in quotes, on one line, shortened if it is long,
// and withheld if it may be a secret.
func Quote(s string) string { return quote(s) }

// quote returns a value as a message may show it: in quotes and on one line. It shortens a long
// value, and withholds one that may be a secret.
func quote(s string) string {
	const most, window = 80, 512
	if looksSecret(s[:min(len(s), window)]) {
		return withheld
	}
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.Quote(s[:cut] + "…")
	}
	return strconv.Quote(s)
}
