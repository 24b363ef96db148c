package machine

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
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

// AddrPort reads an address and a port in numbers. An empty host means all addresses. It fails on
// names, except for localhost.
func AddrPort(host, port string) (netip.AddrPort, error) {
	switch host {
	case "":
		host = "::"
	case "localhost":
		host = "127.0.0.1"
	}
	return netip.ParseAddrPort(net.JoinHostPort(host, port))
}

// SplitURL splits the URL of a server. Parts that the URL does not have are empty.
func SplitURL(rawURL string) (scheme corev1.URIScheme, host, port string) {
	s, rest, _ := strings.Cut(rawURL, "://")
	host, port, _ = net.SplitHostPort(rest)
	return corev1.URIScheme(strings.ToUpper(s)), host, port
}

// HostName returns the host of a URL. A server without a scheme is the host itself. It fails if the
// URL cannot be read or has no host.
func HostName(server string) (string, error) {
	if !strings.Contains(server, "://") {
		return server, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not the URL of a server", server)
	}
	return u.Hostname(), nil
}

// PortString returns a port as flags and URLs write it.
func PortString(port int32) string { return strconv.Itoa(int(port)) }
