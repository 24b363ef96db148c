package credential

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// form is one row of the table: a kind of credential, and how it is recognized.
type form struct {
	name string // in messages
	// hints are words: a content with such a credential has one of them. They are looked for first,
	// those of all rows together, because that is fast.
	hints []string
	// pattern matches the credential. The last of its groups that matches, if there is one, is the
	// secret part, which must not be a placeholder.
	pattern *regexp.Regexp
	// accepts reports whether the secret part is a secret; nil accepts every one.
	accepts func(secret []byte) bool
	// match is for rows without a pattern: it returns the name of the credential that
	// a text holds, or an empty string.
	match func(text []byte) string
}

// PasswordInURL is Found.What for a URL with a user and a password.
const PasswordInURL = "a password in a URL"

// bundleForm is the index of the row of bundles.
const bundleForm = 0

// forms is the table of credentials. The first row that matches names the credential.
var forms = []form{
	// The seed and four private keys give all rights in the cluster.
	{name: "the bundle of a cluster", hints: []string{"leafSeed"},
		pattern: regexp.MustCompile(`\bleafSeed["']?\s*:\s*["']?([A-Za-z0-9+/]{43}=)`)},
	// With it, everybody who has a snapshot of etcd reads all Secrets: the bundle's own line, and
	// the providers of an EncryptionConfiguration (AES-CBC, AES-GCM, secretbox).
	{name: "the key of Secrets in etcd", hints: []string{"encryptionKey"},
		pattern: regexp.MustCompile(`\bencryptionKey["']?\s*:\s*["']?([A-Za-z0-9+/]{43}=)`)},
	{name: "the key of Secrets in etcd", hints: []string{"aescbc", "aesgcm", "secretbox"},
		pattern: regexp.MustCompile(
			`(?s)\b(?:aescbc|aesgcm|secretbox)\b.{0,400}?\bsecret["']?\s*:\s*["']?` +
				`([A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{32}(?:[^A-Za-z0-9+/=]|$))`)},
	// The key, token or password of a kubeconfig. A kubeconfig that names files or asks a program
	// holds none.
	{name: "a kubeconfig with client-key-data", hints: []string{"client-key-data"},
		pattern: regexp.MustCompile(
			`\bclient-key-data["']?\s*:\s*(?:[>|][+-]?\s+)?["']?([A-Za-z0-9+/]{32,}={0,2})`)},
	{hints: []string{"clusters"}, match: kubeconfigUser},
	// The values of a Secret are in base64, which hides nothing.
	{name: "a Secret with values", hints: []string{"Secret"}, match: secretObject},
	// PEM of OpenSSL, PKCS #8, OpenSSH and PGP, with a passphrase or without: passphrases can be
	// guessed.
	{name: "a private key", hints: []string{"PRIVATE KEY"},
		pattern: regexp.MustCompile(
			// An example in a description has <private-key> or … in place of the key.
			`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-*(?:\s|\\+[nr])*` +
				`(?:[^<.…\s\\-]|\\+[^nru\\]|$)|` +
				`---- BEGIN SSH2 [A-Z ]*PRIVATE KEY`)},
	{name: "a private key of PuTTY", hints: []string{"PuTTY-User-Key-File-"},
		pattern: regexp.MustCompile(`\bPuTTY-User-Key-File-[0-9]`)},
	{name: "a private key as JWK", hints: []string{`"kty"`},
		pattern: regexp.MustCompile(`"(?:d|k)"\s*:\s*"([A-Za-z0-9_-]{22,})"`)},
	{name: "an identity of age", hints: []string{"AGE-"},
		pattern: regexp.MustCompile(`\bAGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9+._-]+)-1([0-9A-Z]{16,})`)},
	{name: "a key of WireGuard",
		hints: []string{"PrivateKey", "PresharedKey", "privatekey", "presharedkey"},
		pattern: regexp.MustCompile(`(?mi)^[ \t]*(?:PrivateKey|PresharedKey)[ \t]*=[ \t]*` +
			`([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)`)},
	{name: "a private key in DER", hints: []string{"0"}, match: derKey}, // derSequence
	// Of Butane and Ignition. A key that is fetched is in no document.
	{name: "a key of LUKS", hints: []string{"key_file", "keyFile"},
		pattern: regexp.MustCompile(
			`\bkey_?[fF]ile["']?\s*:\s*\{?\s*["']?` +
				`(?:inline["']?\s*:\s*|source["']?\s*:\s*["']?data:)["']?([^\s"'}]+)`)},
	// A bootstrap token lets a machine join. Many names have its form, so it counts only after the
	// word token.
	{name: "a bootstrap token", hints: []string{"token", "TOKEN", "Token"},
		pattern: regexp.MustCompile(
			`(?i:token)[\w-]*["']?(?:\s*[:=]\s*|\s+)["']?[a-z0-9]{6}\.([a-z0-9]{16})(?:[^\w.-]|$)`),
		accepts: hasDigit},
	{name: "a bootstrap token", hints: []string{"token-secret"},
		pattern: regexp.MustCompile(`\btoken-secret["']?\s*:\s*["']?([a-z0-9]{16})(?:[^\w.-]|$)`)},
	{name: "a bootstrap token", hints: []string{"."}, match: tokenAlone},
	// Service accounts and OIDC. A token without a signature grants nothing.
	{name: "a JSON web token", hints: []string{"eyJ"},
		pattern: regexp.MustCompile(`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.([\w-]{16,})`)},
	{name: "a token in an HTTP header", hints: []string{"earer", "EARER"},
		pattern: regexp.MustCompile(`\b(?i:bearer)[ \t]+([A-Za-z0-9._~+/-]{20,}=*)`),
		accepts: hasDigit},
	{name: "a password in an HTTP header", hints: []string{"asic ", "ASIC "},
		pattern: regexp.MustCompile(`\b(?i:basic)[ \t]+([A-Za-z0-9+/]{8,}={0,2})`),
		accepts: userAndPassword},
	{name: "a token of GitHub",
		hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		pattern: regexp.MustCompile(
			`\b(?:gh[pousr]_([A-Za-z0-9]{36})|github_pat_([A-Za-z0-9_]{22,}))`), accepts: hasDigit},
	{name: "a token of GitLab", hints: []string{"glpat-"},
		pattern: regexp.MustCompile(`\bglpat-([\w-]{20,})`), accepts: hasDigit},
	{name: "a token of Slack", hints: []string{"xox"},
		pattern: regexp.MustCompile(`\bxox[abpr]-([0-9][\w-]{16,})`), accepts: hasDigit},
	{name: "a token of Vault", hints: []string{"hvs."},
		pattern: regexp.MustCompile(`\bhvs\.([\w-]{24,})`), accepts: hasDigit},
	{name: "an access key of AWS",
		hints: []string{"aws", "AWS", "Aws", "aWS", "aWs", "AWs", "awS", "AwS"},
		pattern: regexp.MustCompile(
			`(?i)\baws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?` +
				`([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)`), accepts: hasDigit},
	// The entries that docker login writes, and auth of containerd's configuration.
	{name: "a registry's password", hints: []string{"auth"},
		pattern: regexp.MustCompile(`auth["']?\s*[:=]\s*["']([A-Za-z0-9+/]{6,}={0,2})["']`),
		accepts: userAndPassword},
	{name: "a registry's token", hints: []string{"identitytoken", "registrytoken"},
		pattern: regexp.MustCompile(
			`\b(?:identity|registry)token["']?\s*:\s*["']([^"']{16,})["']`)},
	{hints: []string{"://"}, match: urlPassword},
}

// hintBytes holds the rows whose hints may have a byte at their first, second and third place.
var hintBytes = func() (rows [3][256]uint64) {
	for i := range forms {
		for _, hint := range forms[i].hints {
			for n := range 3 * 256 {
				if at, c := n/256, n%256; at >= len(hint) || hint[at] == byte(c) {
					rows[at][c] |= 1 << i
				}
			}
		}
	}
	return rows
}()

// hinted returns the rows of which a text has a hint, as the bits of a number.
func hinted(text []byte) (rows uint64) {
	for i, c := range text {
		may := hintBytes[0][c] &^ rows
		if may != 0 && i+2 < len(text) {
			may &= hintBytes[1][text[i+1]] & hintBytes[2][text[i+2]]
		}
		for ; may != 0; may &= may - 1 {
			row := bits.TrailingZeros64(may)
			begins := func(hint string) bool { return bytes.HasPrefix(text[i:], []byte(hint)) }
			if slices.ContainsFunc(forms[row].hints, begins) {
				rows |= 1 << row
			}
		}
	}
	return rows
}

func (f *form) in(text []byte) string {
	if f.pattern == nil {
		return f.match(text)
	}
	for _, found := range f.pattern.FindAllSubmatch(text, -1) {
		if f.pattern.NumSubexp() == 0 {
			return f.name
		}
		secret := found[len(found)-1]
		for _, group := range found[1:] {
			if len(group) > 0 {
				secret = group // of several alternatives the one that matched
			}
		}
		if !placeholder.Match(secret) && (f.accepts == nil || f.accepts(secret)) {
			return f.name
		}
	}
	return ""
}

// placeholder matches what people and templates write instead of a secret.
var placeholder = regexp.MustCompile(`(?i)^(|~|null|none|[$<{%\[(].*|[x*.…_-]+|0+|A{8,}=*|` +
	`redacted.*|.*omitted.*|(your|my|the)?[._-]?(password|passwd|pass|pw|secret|token)|` +
	`change[._-]?me|example)$`)

func hasDigit(secret []byte) bool { return bytes.ContainsAny(secret, "0123456789") }

func userAndPassword(secret []byte) bool {
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(secret), "="))
	user, password, both := bytes.Cut(plain, []byte(":"))
	unprintable := func(b byte) bool { return b < ' ' || b > '~' }
	return err == nil && both && len(user) > 0 && !placeholder.Match(password) &&
		!slices.ContainsFunc(plain, unprintable)
}

var userInURL = regexp.MustCompile(
	`\b[a-z][a-z0-9+.-]*://[^/\s:@"'<>]*:([^/\s@"'<>]+)@([\w\[][^/\s]*)`)

func urlPassword(text []byte) string {
	// The pattern is slow, and only a URL with an @ before its path can match it.
	for rest, hasUser := text, false; !hasUser; {
		var found bool
		if _, rest, found = bytes.Cut(rest, []byte("://")); !found {
			return ""
		}
		end := bytes.IndexAny(rest, "/@\"'<> \t\r\n\f")
		hasUser = end >= 0 && rest[end] == '@'
	}
	for _, found := range userInURL.FindAllSubmatch(text, -1) {
		if !placeholder.Match(found[1]) && !bytes.HasPrefix(found[2], []byte("sha256:")) {
			return PasswordInURL
		}
	}
	return ""
}

var bareToken = regexp.MustCompile(`^[a-z0-9]{6}\.([a-z0-9]{16})$`)

func tokenAlone(text []byte) string {
	const most = 64
	if len(text) > most {
		return ""
	}
	if found := bareToken.FindSubmatch(bytes.TrimSpace(text)); found != nil && hasDigit(found[1]) {
		return "a bootstrap token"
	}
	return ""
}

// The first bytes of values in DER.
const (
	derSequence = 0x30
	derInteger  = 0x02
)

func derKey(text []byte) string {
	const most = 16 << 10
	if len(text) < 2 || text[0] != derSequence || len(text) > most {
		return ""
	}
	header := 2
	if text[1] >= 0x80 { // the length takes more bytes
		header += int(text[1] & 0x0f)
	}
	if header >= len(text) || text[header] != derInteger {
		return "" // a key begins with its version, a certificate does not
	}
	for _, parse := range []func([]byte) error{
		func(der []byte) error { _, err := x509.ParseECPrivateKey(der); return err },
		func(der []byte) error { _, err := x509.ParsePKCS8PrivateKey(der); return err },
		func(der []byte) error { _, err := x509.ParsePKCS1PrivateKey(der); return err },
	} {
		if parse(text) == nil {
			return "a private key in DER"
		}
	}
	return ""
}

var clusterName = regexp.MustCompile(
	`(?m)(?:^|[,{]\s*)["']?name["']?\s*:\s*["']?([a-z0-9][a-z0-9.-]{0,62})`)

func bundleName(text []byte) string {
	if found := clusterName.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return "(unnamed)"
}
