package config

import (
	"net/netip"
	"strings"

	"kiln/render/suggest"
	"kiln/render/target"
	"kiln/render/yamlpath"
)

// ntpServers checks the time servers of a layer.
func (v *checker) ntpServers(servers []string, at *yamlpath.Location) {
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
		if a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() {
			return "is not the address of one server; write one that the machine can reach"
		}
		return ""
	}
	_, err := netip.ParseAddrPort(text)
	switch {
	case err == nil || allDigits.MatchString(text):
		return notAddress(text)
	case strings.ContainsAny(text, ":/[]"):
		return "is not the name or the address of a server alone; write it like ntp.example.com"
	}
	return hostProblem(text)
}

// timeZone checks the time zone of a layer.
func (v *checker) timeZone(name string, at *yamlpath.Location) {
	zones := target.TimeZones()
	known := map[string]bool{"": true}
	for _, zone := range zones {
		known[zone] = true
	}
	if !known[name] {
		v.report(at, "%s", suggest.NoSuch(name, zones, "%s is not a time zone that every image "+
			"has; write its name in the IANA database, such as Europe/Berlin or UTC", quote(name)))
	}
}

// hostAliases checks the names of a layer for addresses.
func (v *checker) hostAliases(aliases []HostAlias, at *yamlpath.Location) {
	addresses := map[netip.Addr]int{}
	type named struct {
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
		case addressProblem(a) != "":
			v.report(here.Key("ip"), "%s %s", quote(alias.IP), addressProblem(a))
		case ok:
			v.report(here.Key("ip"), "%s is already hostAliases[%d].ip; "+
				"put all names of an address into one entry", a, first)
		default:
			addresses[a] = i
		}
		if len(alias.Hostnames) == 0 {
			v.report(here.Key("hostnames"), "is empty; write at least one name")
		}
		for j, name := range alias.Hostnames {
			first, ok := names[named{a.Is4(), name}]
			switch problem := hostProblem(name); {
			case problem != "":
				v.report(here.Key("hostnames").Index(j), "%s %s", quote(name), problem)
			case name == "localhost" || allDigits.MatchString(name):
				v.report(here.Key("hostnames").Index(j), "%s has a meaning of its own; "+
					"write another name", quote(name))
			case ok:
				v.report(here.Key("hostnames").Index(j), "%s is a name of %s already, and programs "+
					"take the first; remove one", quote(name), first)
			default:
				names[named{a.Is4(), name}] = a
			}
		}
	}
}

// trustedCAs checks the files with CAs of a layer.
func (v *checker) trustedCAs(files []string, at *yamlpath.Location) {
	seen := map[string]int{}
	for i, name := range files {
		if first, ok := seen[name]; ok {
			v.report(at.Index(i), "%s is already trustedCAsFrom[%d]; remove one", quote(name), first)
			continue
		}
		seen[name] = i
		v.caFile(name, at.Index(i))
	}
}
