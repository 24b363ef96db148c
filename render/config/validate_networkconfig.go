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
	v.networkFields(config, config["version"] == int64(2), at)
}

func (v *checker) netplanFile(f *File, at *yamltext.Location) {
	var config map[string]any
	text := []byte(cmp.Or(f.Content, string(v.c.Text(f.ContentFrom))))
	if path.Dir(f.Path) != "/etc/netplan" || yamltext.Object.Check(text) != nil ||
		yaml.Unmarshal(text, &config) != nil {
		return
	}
	inside := checker{reporter: &reporter{}}
	inside.networkFields(config["network"], true, (&yamltext.Location{}).Key("network"))
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

var ofNames = regexp.MustCompile(
	`\.([^.]*-.*|bonds|bridges|ethernets|modems|tunnels|vlans|vrfs|wifis)$`)

// networkSecret matches the fields of netplan (1.1) with a password or a key of WireGuard.
var networkSecret = regexp.MustCompile(`^(.*-)?password$|^private$|^shared$`)

// networkFields reports secrets at any place in a network configuration, and misspelt fields of
// version 2, with which netplan refuses the whole file. A key of WireGuard may be a file's path.
func (v *checker) networkFields(config any, isV2 bool, at *yamltext.Location) {
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
			near := wording.Nearest(key, networkKeys)
			if isV2 && near != "" && near != key && !ofNames.MatchString(at.String()) {
				v.report(at.Key(key), "no such field of netplan; did you mean %q?", near)
			}
			v.networkFields(config[key], isV2, at.Key(key))
		}
	case []any:
		for i, value := range config {
			v.networkFields(value, isV2, at.Index(i))
		}
	}
}
