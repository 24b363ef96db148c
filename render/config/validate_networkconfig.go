package config

import (
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// networkConfig checks that a network configuration has one of cloud-init's two versions, and that
// it has no secrets.
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
	v.networkSecrets(config, at)
	if config["version"] == int64(2) {
		v.networkKeys(config, false, at)
	}
}

// networkKeys are the fields of netplan that people misspell, and all with names like theirs
// (netplan 1.1, doc/netplan-yaml.md). Below some of them stand names of the user's.
var networkKeys = strings.Fields("accept-ra addresses bonds bridges critical dhcp4 dhcp6 " +
	"ethernets gateway4 gateway6 interfaces macaddress match modems mode mtu name nameservers " +
	"on-link optional renderer routes search set-name table to tunnels version via vlans " +
	"vrfs wifis")

var namesBelow = regexp.MustCompile(`^(bonds|bridges|ethernets|modems|tunnels|v.*s|wifis|.*-.*)$`)

// networkKeys reports misspelt fields, with which netplan refuses the whole file. named reports
// whether the keys are names of the user's.
func (v *checker) networkKeys(config any, named bool, at *yamltext.Location) {
	fields, _ := config.(map[string]any)
	for key, value := range fields {
		if near := wording.Nearest(key, networkKeys); near != "" && near != key && !named {
			v.report(at.Key(key), "no such field of netplan; did you mean %q?", near)
		}
		v.networkKeys(value, !named && namesBelow.MatchString(key), at.Key(key))
	}
	list, _ := config.([]any)
	for i, entry := range list {
		v.networkKeys(entry, false, at.Index(i))
	}
}

// networkSecret matches the fields of netplan (1.1) with a password or a key of WireGuard.
var networkSecret = regexp.MustCompile(`^(.*-)?password$|^private$|^shared$`)

// networkSecrets reports secrets at any place in a network configuration. A key of WireGuard may be
// the path of a file.
func (v *checker) networkSecrets(config any, at *yamltext.Location) {
	switch config := config.(type) {
	case map[string]any:
		for key, value := range config {
			s, _ := value.(string)
			wireGuard := key == "key" && config["mode"] == "wireguard"
			secret := wireGuard || networkSecret.MatchString(key)
			if secret && s != "" && !path.IsAbs(s) {
				v.report(at.Key(key), "is a secret, and cluster.yaml holds none; "+
					"put this interface into a file of netplan's, in files with contentFrom, "+
					"mode: \"0600\" and secret: true")
			}
			v.networkSecrets(value, at.Key(key))
		}
	case []any:
		for i, value := range config {
			v.networkSecrets(value, at.Index(i))
		}
	}
}
