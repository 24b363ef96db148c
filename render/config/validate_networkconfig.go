package config

import (
	"path"
	"regexp"

	"kiln/render/yamlpath"
)

// networkConfig checks that a network configuration is of one of cloud-init's two versions.
func (v *checker) networkConfig(config map[string]any, at *yamlpath.Location) {
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
}

// networkSecret matches the fields of netplan (1.1) that hold a password or a key of WireGuard.
var networkSecret = regexp.MustCompile(`^(.*-)?password$|^private$|^shared$`)

// networkSecrets reports secrets in a network configuration, wherever they stand. A key of
// WireGuard may be in a file of its own.
func (v *checker) networkSecrets(config any, at *yamlpath.Location) {
	switch config := config.(type) {
	case map[string]any:
		for key, value := range config {
			text, _ := value.(string)
			secret := networkSecret.MatchString(key) || key == "key" && config["mode"] == "wireguard"
			if secret && text != "" && !path.IsAbs(text) {
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
