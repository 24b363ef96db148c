package config

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// networkConfig checks the version of a network configuration, and that it has no secrets.
func (v *checker) networkConfig(config map[string]any, at *yamltext.Location) {
	if len(config) == 0 {
		return
	}
	if inner, ok := config["network"].(map[string]any); ok && len(config) == 1 {
		config, at = inner, at.Key("network")
	}
	switch version := config["version"]; version {
	case int64(1), int64(2):
	case nil:
		v.report(at, "has no version; write version: 2 and cloud-init's network configuration")
	default:
		v.report(at.Key("version"), "is neither 1 nor 2; "+
			"write version: 2 and cloud-init's network configuration")
	}
	known := networkKeys
	if config["version"] == int64(1) {
		known = networkKeys1
	}
	v.networkFields(config, known, at)
}

func (v *checker) netplanFile(f *File, at *yamltext.Location) {
	var config map[string]any
	text := []byte(cmp.Or(f.Content, string(v.c.Text(f.ContentFrom))))
	if path.Dir(f.Path) != "/etc/netplan" || yamltext.Object.Check(text) != nil ||
		yaml.Unmarshal(text, &config) != nil {
		return
	}
	inside := checker{reporter: &reporter{}}
	inside.networkFields(config["network"], networkKeys, (&yamltext.Location{}).Key("network"))
	for _, p := range inside.found {
		if !strings.HasPrefix(p.Message, "is a secret") { // a file may have some
			v.report(at, "%s: %s: %s", f.Path, p.Path, p.Message)
		}
	}
}

// networkKeys are the fields of netplan that people misspell, and all with names like theirs
// (netplan 1.1, doc/netplan-yaml.md). Below ofNames stand names of the user's.
var networkKeys = strings.Fields("accept-ra addresses bonds bridges critical dhcp4 dhcp6 " +
	"ethernets gateway4 gateway6 interfaces macaddress match modems mode mtu name nameservers " +
	"on-link optional renderer routes search set-name table to tunnels version via vlans " +
	"vrfs wifis")

// networkKeys1 are those of cloud-init's version 1 (26.1, schema-network-config-v1.json). Below
// params stand settings of the kernel.
var networkKeys1 = strings.Fields("accept-ra address bond_interfaces bridge_interfaces broadcast " +
	"config control destination dns_nameservers dns_search gateway interface ipv4 ipv6 " +
	"keep_configuration mac_address metric mtu name netmask network params pointopoint routes " +
	"scope search subnets type version vlan_id vlan_link")

var ofNames = regexp.MustCompile(
	`\.([^.]*-.*|bonds|bridges|ethernets|modems|params|tunnels|vlans|vrfs|wifis)$`)

// networkdKeys are the keys of .network files that people misspell, and all with names like theirs
// (systemd.network(5), systemd.netdev(5), systemd.link(5), of 252 to 257).
var networkdKeys = strings.Fields("Address Bond Bridge DHCP DNS Destination Domains Gateway " +
	"HomeAddress IPVLAN IPVTAP IPv6AcceptRA ISATAP Kind LinkLocalAddressing MACAddress MPUBytes " +
	"MTUBytes Managed Metric NTP Name RequiredForOnline RouteMetric SIP SMTP STP Termination " +
	"Unmanaged UseAddress UseDNR UseDNS UseDomains UseGateway UseRoutes VLAN VLANId VXLAN")

// networkdFile checks the keys of a file of the user's that networkd reads: it leaves out a key
// that it does not know, with a line in its log.
func (v *checker) networkdFile(f *File, at *yamltext.Location) {
	if !strings.HasPrefix(f.Path, "/etc/systemd/network/") {
		return
	}
	for line := range strings.Lines(cmp.Or(f.Content, string(v.c.Text(f.ContentFrom)))) {
		key, _, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		near := wording.Nearest(key, networkdKeys)
		if ok && iniKey.MatchString(key) && near != "" && near != key {
			v.report(at, "%s: networkd has no key %s; did you mean %q?", f.Path, key, near)
		}
	}
}

// networkSecret matches the fields of netplan (1.1) with a password or a key of WireGuard.
var networkSecret = regexp.MustCompile(`^(.*-)?password$|^private$|^shared$`)

// networkFields reports secrets at any place in a network configuration, and misspelt fields, with
// which netplan refuses the whole file. A key of WireGuard may be a file's path.
func (v *checker) networkFields(config any, known []string, at *yamltext.Location) {
	switch config := config.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(config)) { // a file has one place for all
			s, _ := config[key].(string)
			wireGuard := key == "key" && config["mode"] == "wireguard"
			secret := wireGuard || networkSecret.MatchString(key)
			if secret && s != "" && !path.IsAbs(s) {
				v.report(at.Key(key), "is a secret, and cluster.yaml holds none; "+
					"put this interface into a file of netplan's, in files with contentFrom, "+
					"mode: \"0600\" and secret: true")
			}
			near := wording.Nearest(key, known)
			if near != "" && near != key && !ofNames.MatchString(at.String()) {
				v.report(at.Key(key), "no such field; did you mean %q?", near)
			}
			v.networkFields(config[key], known, at.Key(key))
		}
	case []any:
		for i, value := range config {
			v.networkFields(value, known, at.Index(i))
		}
	}
}
