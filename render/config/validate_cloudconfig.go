package config

import (
	"maps"
	"slices"
	"strings"

	"kiln/render/yamlpath"
)

// cloudKeys are the keys of cloud-init's user-data that are passed on, and the kinds of their
// values (cloud-init's schema, 22.4 to 26.2).
var cloudKeys = map[string]string{
	"disk_setup": kindMap, "fs_setup": kindList, "growpart": kindMap, "groups": kindList,
	"mount_default_fields": kindList, "mounts": kindList, "resize_rootfs": "", "users": kindList,
}

// CloudKeys are the keys of cloud-init's user-data that are passed on, sorted.
func CloudKeys() []string { return slices.Sorted(maps.Keys(cloudKeys)) }

// elsewhere are keys that people know, and what says the same here.
var elsewhere = map[string]string{
	"write_files": "files", "runcmd": "preBoot or postBoot", "bootcmd": "preBoot", "ssh_authorized_keys": "sshAuthorizedKeys", "hostname": "name",
	"network": "interfaces or networkConfig",
}

// passwordKeys are keys of a user with a password, or what is computed from one.
var passwordKeys = []string{"hashed_passwd", "passwd", "plain_text_passwd"}

// cloudConfig checks which keys of user-data are passed on. What they say is cloud-init's to judge.
func (v *checker) cloudConfig(config map[string]any, at *yamlpath.Location) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		kind, ok := cloudKeys[key]
		_, isMap := config[key].(map[string]any)
		_, isList := config[key].([]any)
		switch {
		case !ok && elsewhere[key] != "":
			v.report(at.Key(key), "is said with %s", elsewhere[key])
		case !ok:
			v.report(at.Key(key), "is not one of the keys that are passed on to cloud-init: %s", strings.Join(CloudKeys(), ", "))
		case kind == kindMap && !isMap || kind == kindList && !isList:
			v.report(at.Key(key), "is not a %s; write it as cloud-init's documentation shows it", kind)
		}
	}
	users, _ := config["users"].([]any)
	for i, user := range users {
		fields, _ := user.(map[string]any)
		for _, key := range passwordKeys {
			if _, ok := fields[key]; ok {
				v.report(at.Key("users").Index(i).Key(key), "is a password, and cluster.yaml holds no secrets; let the user log in with ssh_authorized_keys")
			}
		}
		keys, _ := fields["ssh_authorized_keys"].([]any)
		for j, key := range keys {
			if text, ok := key.(string); !ok {
				v.report(at.Key("users").Index(i).Key("ssh_authorized_keys").Index(j), "is not a string; write the public key")
			} else if problem := sshKeyProblem(text); problem != "" {
				v.report(at.Key("users").Index(i).Key("ssh_authorized_keys").Index(j), "%s", problem)
			}
		}
	}
	mounts, _ := config["mounts"].([]any)
	for i, mount := range mounts {
		if fields, ok := mount.([]any); !ok || slices.ContainsFunc(fields, func(f any) bool { _, ok := f.(string); return !ok }) {
			v.report(at.Key("mounts").Index(i), "is not a list of strings; write it like [LABEL=etcd, /var/lib/etcd, ext4, \"defaults\", \"0\", \"2\"], numbers in quotes")
		}
	}
}
