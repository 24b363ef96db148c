package config

import (
	"net"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// allDigits matches what may be meant as an address and is no name.
var allDigits = regexp.MustCompile(`^[0-9.]+$`)

// hostProblem returns why a name is not a DNS name, "" if it is one.
func hostProblem(name string) string {
	host, port, err := net.SplitHostPort(name)
	switch {
	case strings.Contains(name, "://"):
		return "is a URL; write the host in it, and nothing else"
	case err == nil && allDigits.MatchString(port):
		return "has a port; write " + host + " alone"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return "is longer than 253 characters"
	case strings.HasSuffix(name, "."):
		return "ends with a dot; remove it"
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return "is not a DNS name; write lower-case letters, digits, '-' and dots, " +
			"with a letter or digit at both ends of each part"
	}
	for part := range strings.SplitSeq(name, ".") {
		if len(part) > validation.DNS1123LabelMaxLength {
			return "has a part of more than 63 characters"
		}
	}
	return ""
}

// hasControl reports whether a string has characters that do not belong in one line: line ends,
// control characters, and those that only direct how others are shown (U+202E).
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// isControl reports whether a character does not belong in a text of several lines. Tabs and line
// ends belong there.
func isControl(ru rune) bool {
	switch ru {
	case '\n', '\t', '\r', 0x85: // U+0085 is a line end
		return false
	case 0xfeff: // the byte order mark
		return true
	}
	return ru < ' ' || ru >= 0x7f && ru < 0xa0
}
