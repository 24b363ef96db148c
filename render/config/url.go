package config

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// urlText matches the characters of URLs (RFC 3986, section 2), without quotes, and without the
// comma that separates URLs in lists.
var urlText = regexp.MustCompile(`^[A-Za-z0-9:/@.~_%!$&()*+;=\[\]-]+$`)

// plainURL matches URLs without quotes and without characters that a URL has to escape.
var plainURL = regexp.MustCompile(`^[A-Za-z0-9:/._~{}\[\]%+,=@!$&()*;?#-]+$`)

// hostPort matches the host of a URL with an optional port.
var hostPort = regexp.MustCompile(
	`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`)

// urlProblem returns why a string is not the URL of a server with one of the schemes, "" if it is
// one.
func urlProblem(text string, schemes ...string) string {
	example := schemes[0] + "://server.example.com"
	u, err := url.Parse(text)
	if err == nil && u.User != nil || userInURL.MatchString(text) {
		return "has credentials in the URL, and cluster.yaml holds no secrets; remove them"
	}
	switch {
	case err != nil || hasControl(text):
		return fmt.Sprintf("%s is not a URL; write it like %s", quote(text), example)
	case slices.Contains(schemes, u.Scheme) && !strings.HasPrefix(text, u.Scheme):
		return fmt.Sprintf("%s has a scheme in upper case; write %s://", quote(text), u.Scheme)
	case !slices.Contains(schemes, u.Scheme):
		return fmt.Sprintf("%s does not begin with %s://; write it like %s",
			quote(text), strings.Join(schemes, ":// or "), example)
	case u.Host == "" || !hostPort.MatchString(u.Host):
		return fmt.Sprintf("%s has no valid host; write it like %s", quote(text), example)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "has a query or fragment, which may hold a secret; remove it"
	}
	if port, _ := strconv.Atoi(u.Port()); port > math.MaxUint16 {
		return fmt.Sprintf("%s has the port %d; write a number from 1 to %d",
			quote(text), port, math.MaxUint16)
	}
	return ""
}

// fitsPort reports whether the port of a host is a port, or there is none.
func fitsPort(host string) bool {
	_, text, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	port, err := strconv.Atoi(text)
	return text == "" || err == nil && port <= math.MaxUint16
}
