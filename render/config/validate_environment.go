package config

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) ntpServers(servers []string, at *yamltext.Location) {
	for i, server := range servers {
		if problem := serverProblem(server); problem != "" {
			v.report(at.Index(i), "%s %s", quote(server), problem)
		} else {
			v.repeated(servers, i, "ntpServers", at.Index(i))
		}
	}
}

func serverProblem(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return unicastProblem(a)
	}
	_, err := netip.ParseAddrPort(text)
	_, bracketed := netip.ParseAddr(strings.Trim(text, "[]"))
	switch {
	case err == nil || bracketed == nil || allDigits.MatchString(text):
		return notAddress(text)
	case strings.ContainsAny(text, ":/[]"):
		return "is not the name or the address of a server alone; write it like ntp.example.com"
	}
	return hostProblem(text)
}

// unicastProblem returns why an address is not that of another machine, "" if it may be one. It may
// be link-local: platforms have their time servers and their metadata there.
func unicastProblem(a netip.Addr) string {
	switch {
	case a.Zone() != "":
		return "has a zone, which not every program reads; write an address without one"
	case a.Is4In6():
		return "is an IPv4 address written as IPv6; write " + a.Unmap().String()
	case a.IsUnspecified() || a.IsMulticast() || a == broadcast:
		return "is not the address of one machine; write one that the machine can reach"
	}
	return ""
}

func (v *checker) timeZone(name string, at *yamltext.Location) {
	if zones := target.TimeZones(); name != "" && !slices.Contains(zones, name) {
		v.report(at, "%s", wording.NoSuch(name, zones, "%s is not a time zone that every image "+
			"has; write its name in the IANA database, such as Europe/Berlin or UTC", quote(name)))
	}
}

// ownHosts are the names that kiln's /etc/hosts has anyway.
var ownHosts = []string{"localhost", "ip6-localhost", "ip6-loopback"}

func (v *checker) hostAliases(aliases []HostAlias, role string, at *yamltext.Location) {
	addresses := map[netip.Addr]int{}
	type named struct { // a name may have an address of each family
		is4  bool
		name string
	}
	names := map[named]netip.Addr{}
	for i, alias := range aliases {
		here := at.Index(i)
		a, err := netip.ParseAddr(alias.IP)
		switch first, ok := addresses[a]; {
		case err != nil:
			v.report(here.Key("ip"), "%s %s", quote(alias.IP), notAddress(alias.IP))
		case unicastProblem(a) != "":
			v.report(here.Key("ip"), "%s %s", quote(alias.IP), unicastProblem(a))
		case ok:
			v.report(here.Key("ip"), "%s is already hostAliases[%d].ip; "+
				"put all names of an address into one entry", a, first)
		default:
			addresses[a] = i
			v.endpointAlias(a, alias.Hostnames, role, here)
		}
		if len(alias.Hostnames) == 0 {
			v.report(here.Key("hostnames"), "is empty; write at least one name")
		}
		for j, name := range alias.Hostnames {
			first, ok := names[named{a.Is4(), name}]
			switch problem := hostProblem(name); {
			case problem != "":
				v.report(here.Key("hostnames").Index(j), "%s %s", quote(name), problem)
			case slices.Contains(ownHosts, name):
				v.report(here.Key("hostnames").Index(j), "%s is a name of this machine in every "+
					"/etc/hosts; write another one", quote(name))
			case allDigits.MatchString(name):
				v.report(here.Key("hostnames").Index(j), "%s would be read as an address; "+
					"write a name with a letter", quote(name))
			case err == nil && ok:
				v.report(here.Key("hostnames").Index(j), "%s is a name of %s already, and "+
					"programs take the first; remove one", quote(name), first)
			case err == nil:
				names[named{a.Is4(), name}] = a
			}
		}
	}
}

func (v *checker) trustedCAs(files []string, at *yamltext.Location) {
	for i, name := range files {
		if !v.repeated(files, i, "trustedCAsFrom", at.Index(i)) {
			v.caFile(name, at.Index(i))
		}
	}
}

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
