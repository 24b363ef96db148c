package config

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// withheld stands in a message for a value that may be a secret.
const withheld = "(value withheld)"

// Shapes of secrets that people paste by mistake: private keys of PEM, OpenSSH and age, bootstrap tokens, JSON web tokens, cloud
// and forge tokens, and long runs of mixed letters and digits.
var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY|AGE-SECRET-KEY-1|PuTTY-User-Key-File`)
	tokenLike  = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|eyJ[\w-]{8,}\.[\w-]+|\b(gh[pousr]_|github_pat_|glpat-|xox[abp]-|AKIA|ASIA|hvs\.)[\w-]{8,}`)
	longRun    = regexp.MustCompile(`[A-Za-z0-9+/=_-]{32,}`)
	credential = regexp.MustCompile(`//[^/@\s]*@|[^\s/@:]+:[^\s/@]+@`)
)

// holdsPrivateKey says whether a text contains the beginning of a private key.
func holdsPrivateKey(s string) bool {
	return strings.Contains(s, "KEY") && privateKey.MatchString(s) || strings.Contains(s, "PuTTY") && privateKey.MatchString(s)
}

// HoldsCredential says whether a text holds what lets somebody in by itself and can be told by its form: a private key, a bootstrap token, a
// token of a cloud or forge.
func HoldsCredential(s string) bool { return holdsPrivateKey(s) || tokenLike.MatchString(s) }

// looksSecret says whether a value might be a secret, so that no message may repeat it. It errs on the side of silence.
func looksSecret(s string) bool {
	if HoldsCredential(s) || credential.MatchString(s) {
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
