package config

import (
	"net/netip"
	"regexp"
	"strings"

	"kiln/render/yamlpath"
)

// hostOrDomain is a name in NO_PROXY: of a host, or of a domain with a dot or "*." in front, with
// an optional port.
var hostOrDomain = regexp.MustCompile(`^(\*?\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[1-9][0-9]{0,4})?$`)

// proxy checks a layer's proxy. What it lets through means nothing to systemd, to a shell or within
// a list with commas.
func (v *checker) proxy(p *Proxy, at *yamlpath.Location) {
	v.proxyURL(p.HTTP, at.Key("http"))
	v.proxyURL(p.HTTPS, at.Key("https"))
	if len(p.NoProxy) > 0 && p.HTTP == "" && p.HTTPS == "" {
		v.report(at, "says what is reached without a proxy, and names none; write http or https, or remove noProxy")
	}
	for i, place := range p.NoProxy {
		if problem := noProxyProblem(place); problem != "" {
			v.report(at.Key("noProxy").Index(i), "%s %s", quote(place), problem)
		}
	}
}

// proxyURL checks where a proxy is; an empty text is none. Credentials are refused: they would
// stand in the environment of pods and of containerd's unit, which everybody on the machine may
// read (systemd.exec(5), Environment=).
func (v *checker) proxyURL(text string, at *yamlpath.Location) {
	if text == "" {
		return
	}
	problem := urlProblem(text, "http", "https")
	switch {
	case userInURL.MatchString(text):
		v.report(at, "has credentials in the URL, which pods' environments would show; name a proxy that adds them, or give them to containerd alone, as a drop-in of its unit in files with secret: true")
	case problem != "":
		v.report(at, "%s", problem)
	case strings.Count(text, "/") > 2:
		v.report(at, "%s has a path; end it with the port", quote(text))
	}
}

// noProxyProblem returns what keeps a text from being a place in NO_PROXY as Go reads it
// (golang.org/x/net/http/httpproxy, Config.NoProxy), "" if nothing does.
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
	case err != nil && (!hostOrDomain.MatchString(text) || allDigits.MatchString(host)):
		return "is not a place; write one host, domain, address or network, such as registry.example.com, .example.com or 10.0.0.0/8"
	}
	return ""
}
