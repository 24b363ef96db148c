package config

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"kiln/render/credential"
)

// withheld stands in a message for a value that may be a secret.
const withheld = "(value withheld)"

// Shapes of what may be a secret: what looks like a token of any kind, long runs of mixed letters
// and digits, users in URLs. They are wider than the forms of credentials, for nothing is refused
// because of them.
var (
	tokenLike = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|eyJ[\w-]{8,}\.[\w-]+|\b(gh[pousr]_|github_pat_|glpat-|xox[abp]-|AKIA|ASIA|hvs\.)[\w-]{8,}`)
	longRun   = regexp.MustCompile(`[A-Za-z0-9+/=_-]{32,}`)
	userInURL = regexp.MustCompile(`//[^/@\s]*@|[^\s/@:]+:[^\s/@]+@`)
)

// looksSecret says whether a value might be a secret, so that no message may repeat it. It errs on the side of silence.
func looksSecret(s string) bool {
	if _, ok := credential.Find([]byte(s)); ok || tokenLike.MatchString(s) || userInURL.MatchString(s) {
		return true
	}
	for _, run := range longRun.FindAllString(s, -1) {
		if strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run {
			return true
		}
	}
	return false
}

// quote returns a value as a message may show it: quoted and on one line, shortened if it is long, withheld if it may
// be a secret.
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
