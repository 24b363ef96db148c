package config

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
