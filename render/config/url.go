package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// urlText matches URLs of servers: the characters of URLs (RFC 3986, section 2) without quotes, the
// comma that separates URLs in lists, and those that begin a query or a fragment.
var urlText = regexp.MustCompile(`^[A-Za-z0-9:/@.~_%!$&()*+;=\[\]-]+$`)

// plainURL matches URLs without quotes and without characters that a URL has to escape. Braces,
// which it has to, are those of placeholders.
var plainURL = regexp.MustCompile(`^[A-Za-z0-9:/._~{}\[\]%+,=@!$&()*;?#-]+$`)

// urlHost is the pattern of the host of a URL, and hostPort matches one with an optional port.
const urlHost = `([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])`

var hostPort = regexp.MustCompile(`^` + urlHost + `(:[1-9][0-9]{0,4})?$`)

// webOfDocker is a web site that people take for the registry docker.io.
const webOfDocker = "hub.docker.com"

// urlProblem returns why a string is not the URL of a server with one of the schemes, "" if it is
// one.
func urlProblem(text string, schemes ...string) string {
	example := schemes[0] + "://server.example.com"
	u, err := url.Parse(text)
	if err == nil && u.User != nil || userInURL.MatchString(text) {
		return "has credentials in the URL, and cluster.yaml holds no secrets; remove them"
	}
	switch {
	case strings.Contains(text, ",") && (err != nil || strings.Contains(u.Host, ",")):
		return fmt.Sprintf("%s names several servers; write one URL for each", quote(text))
	case err != nil || hasControl(text):
		return fmt.Sprintf("%s is not a URL; write it like %s", quote(text), example)
	case slices.Contains(schemes, u.Scheme) && !strings.HasPrefix(text, u.Scheme):
		return fmt.Sprintf("%s has a scheme in upper case; write %s://", quote(text), u.Scheme)
	case !slices.Contains(schemes, u.Scheme):
		return fmt.Sprintf("%s does not begin with %s://; write it like %s",
			quote(text), strings.Join(schemes, ":// or "), example)
	case u.Host == "":
		return fmt.Sprintf("%s has no host; write it like %s", quote(text), example)
	case strings.ToLower(u.Host) != u.Host:
		return fmt.Sprintf("%s has a host in upper case; write it in lower case", quote(text))
	case !fitsPort(u.Host):
		return fmt.Sprintf("%s has no valid port; write a number from 1 to %d, or none",
			quote(text), math.MaxUint16)
	case !hostPort.MatchString(u.Host) || !isHost(u.Hostname()):
		return fmt.Sprintf("%s has no valid host; write it like %s", quote(text), example)
	case u.Host == webOfDocker:
		return quote(text) + " is a web site and no registry; write https://registry-1.docker.io"
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "has a query or fragment, which may hold a secret; remove it"
	}
	return ""
}

// isHost reports whether a host that hostPort matches is an address, or can be a name: 10.0.0.300
// is neither.
func isHost(host string) bool {
	if strings.ContainsRune(host, ':') || allDigits.MatchString(host) {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return hostProblem(host) == ""
}

// fitsPort reports whether the port of a host is a number from 1 to 65535 without zeros in front,
// or there is none.
func fitsPort(host string) bool {
	_, text, found := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	port, err := strconv.ParseUint(text, 10, 16)
	return !found || err == nil && port > 0 && text[0] != '0'
}

// allDigits matches what may be meant as an address and is no name.
var allDigits = regexp.MustCompile(`^[0-9.]+$`)

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

const maxHost = 253 // bytes of a name: RFC 1123. A pattern that counts them compiles too slowly.
var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// IsMachineName reports whether a name that a stored file contains can be that of a node or a pool.
// It then has the characters of a DNS name and is not longer than one, so paths and URLs may
// contain it. Parse checks the names of a configuration more closely.
func IsMachineName(name string) bool { return len(name) <= maxHost && hostName.MatchString(name) }
