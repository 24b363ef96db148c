package config

import (
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// ntpServers checks the time servers of a layer.
func (v *checker) ntpServers(servers []string, at *yamltext.Location) {
	seen := map[string]int{}
	for i, server := range servers {
		first, ok := seen[server]
		switch problem := serverProblem(server); {
		case problem != "":
			v.report(at.Index(i), "%s %s", quote(server), problem)
		case ok:
			v.report(at.Index(i), "%s is already ntpServers[%d]; remove one", quote(server), first)
		default:
			seen[server] = i
		}
	}
}

// serverProblem returns why a string is not the name or the address of a server, "" if it is one.
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

// timeZone checks the time zone of a layer.
func (v *checker) timeZone(name string, at *yamltext.Location) {
	if zones := target.TimeZones(); name != "" && !slices.Contains(zones, name) {
		v.report(at, "%s", wording.NoSuch(name, zones, "%s is not a time zone that every image "+
			"has; write its name in the IANA database, such as Europe/Berlin or UTC", quote(name)))
	}
}

// ownHosts are the names that kiln's /etc/hosts has anyway.
var ownHosts = []string{"localhost", "ip6-localhost", "ip6-loopback"}

// hostAliases checks the host aliases of a layer. role is that of its machines.
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

// trustedCAs checks the files with CAs of a layer.
func (v *checker) trustedCAs(files []string, at *yamltext.Location) {
	seen := map[string]int{}
	for i, name := range files {
		if first, ok := seen[name]; ok {
			v.report(at.Index(i), "%s is already trustedCAsFrom[%d]; remove one",
				quote(name), first)
			continue
		}
		seen[name] = i
		v.caFile(name, at.Index(i))
	}
}
