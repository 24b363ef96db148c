package config

import (
	"net/netip"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// hostOrDomain matches a name in NO_PROXY: of a host, or of a domain with a dot or "*." in front,
// with an optional port.
var hostOrDomain = regexp.MustCompile(
	`^(\*?\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?$`)

// proxy checks the proxy of a layer. The values that it accepts have no character with a meaning
// for systemd, for a shell or in a list with commas.
func (v *checker) proxy(p *Proxy, at *yamltext.Location) {
	v.proxyURL(p.HTTP, at.Key("http"))
	v.proxyURL(p.HTTPS, at.Key("https"))
	if len(p.NoProxy) > 0 && p.HTTP == "" && p.HTTPS == "" {
		v.report(at, "has noProxy and no proxy; write http or https, or remove noProxy")
	}
	for i, place := range p.NoProxy {
		if problem := noProxyProblem(place); problem != "" {
			v.report(at.Key("noProxy").Index(i), "%s %s", quote(place), problem)
		}
	}
}

// proxyURL checks the URL of a proxy, if there is one. It reports credentials, because pods and
// containerd's unit have the URL in their environment, which everybody on the machine may read
// (systemd.exec(5), Environment=).
func (v *checker) proxyURL(text string, at *yamltext.Location) {
	if text == "" {
		return
	}
	v.early(text, at)
	problem := urlProblem(text, "http", "https")
	switch {
	case userInURL.MatchString(text):
		v.report(at, "has credentials in the URL, which the environment of pods would show; "+
			"name a proxy that adds them, or give them to containerd alone, "+
			"as a drop-in of its unit in files with secret: true")
	case problem != "":
		v.report(at, "%s", problem)
	case strings.Count(text, "/") > 2:
		v.report(at, "%s has a path; end it with the port", quote(text))
	}
}

// noProxyProblem returns why a string is not an entry of NO_PROXY as Go reads it
// (golang.org/x/net/http/httpproxy, Config.NoProxy), "" if it is one.
func noProxyProblem(text string) string {
	a, err := netip.ParseAddr(text)
	if err == nil && a.Zone() == "" {
		return ""
	}
	p, err := netip.ParsePrefix(text)
	host, _, _ := strings.Cut(text, ":")
	switch {
	case err == nil && p.Masked() != p:
		return "has bits set behind the prefix; write " + p.Masked().String()
	case err != nil && (!hostOrDomain.MatchString(text) || allDigits.MatchString(host) ||
		len(strings.TrimLeft(host, "*.")) > maxHost):
		return "is not a host, domain, address or network; write one of them, " +
			"such as registry.example.com, .example.com or 10.0.0.0/8"
	}
	return ""
}
