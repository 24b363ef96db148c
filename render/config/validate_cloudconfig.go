package config

import (
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// cloudKeys maps the keys of cloud-init's user-data that cloudConfig may have to the kinds of their
// values, "" for more than one kind (cloud-init's schema, 22.4 to 26.2).
var cloudKeys = map[string]string{
	"disk_setup": kindMap, "fs_setup": kindList, "growpart": kindMap, "groups": kindList,
	"mount_default_fields": kindList, "mounts": kindList, "resize_rootfs": "", "users": kindList,
}

// CloudKeys returns the keys of cloud-init's user-data that cloudConfig may have, sorted.
func CloudKeys() []string { return slices.Sorted(maps.Keys(cloudKeys)) }

// installAdvice is what to do instead of letting cloud-init install packages.
const installAdvice = "install packages with a script in preBoot, or use an image that has them"

// alternatives maps keys of user-data to what to do instead, if no field does the same.
var alternatives = map[string]string{
	"apt":                        installAdvice,
	"apt_pipelining":             installAdvice,
	"ca_certs":                   "write the certificates with files, and trust them in preBoot",
	"chpasswd":                   "let people log in with sshAuthorizedKeys",
	"final_message":              "run a script in postBoot",
	"fqdn":                       "write the host name as name of the node",
	"locale":                     "set it with a script in preBoot",
	"ntp":                        "write the configuration of the time service with files",
	"package_reboot_if_required": installAdvice,
	"package_update":             installAdvice,
	"package_upgrade":            installAdvice,
	"packages":                   installAdvice,
	"password":                   "let people log in with sshAuthorizedKeys",
	"phone_home":                 "run a script in postBoot",
	"power_state":                "run a script in postBoot",
	"snap":                       installAdvice,
	"ssh_pwauth":                 "let people log in with sshAuthorizedKeys",
	"swap":                       "make it with a script in preBoot, and set kubelet.failSwapOn",
	"timezone":                   "set it with a script in preBoot",
	"yum_repos":                  installAdvice,
	"zypper":                     installAdvice,
}

// fieldsFor maps other keys of user-data to the fields of cluster.yaml that do the same.
var fieldsFor = map[string]string{
	"bootcmd":             "preBoot",
	"hostname":            "name",
	"network":             "interfaces or networkConfig",
	"runcmd":              "preBoot or postBoot",
	"ssh_authorized_keys": "sshAuthorizedKeys",
	"write_files":         "files",
}

// passwordKeys are the keys under which a user has a password, or a hash of one.
var passwordKeys = []string{"hashed_passwd", "passwd", "plain_text_passwd"}

// cloudConfig checks the keys of user-data and the kinds of their values. cloud-init checks the
// rest.
func (v *checker) cloudConfig(config map[string]any, at *yamltext.Location) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		kind, ok := cloudKeys[key]
		_, isMap := config[key].(map[string]any)
		_, isList := config[key].([]any)
		switch {
		case !ok && fieldsFor[key] != "":
			v.report(at.Key(key), "has a field of its own in cluster.yaml; write %s",
				fieldsFor[key])
		case !ok && alternatives[key] != "":
			v.report(at.Key(key), "is not passed on to cloud-init; %s", alternatives[key])
		case !ok:
			v.report(at.Key(key), "is not one of the keys that are passed on to cloud-init: %s",
				strings.Join(CloudKeys(), ", "))
		case kind == kindMap && !isMap || kind == kindList && !isList:
			v.report(at.Key(key), "is not a %s; write it as cloud-init's documentation shows it",
				kind)
		}
	}
	users, _ := config["users"].([]any)
	for i, user := range users {
		fields, _ := user.(map[string]any)
		v.cloudUser(fields, at.Key("users").Index(i))
	}
	mounts, _ := config["mounts"].([]any)
	for i, mount := range mounts {
		v.cloudMount(mount, at.Key("mounts").Index(i))
	}
}

// maxMountFields is the most fields of a mount (cloud-init's schema, cc_mounts).
const maxMountFields = 6

// cloudMount checks that a mount of cloud-init is a list of strings with the right length.
func (v *checker) cloudMount(mount any, at *yamltext.Location) {
	fields, isList := mount.([]any)
	notString := func(field any) bool { _, is := field.(string); return !is }
	switch {
	case !isList || slices.ContainsFunc(fields, notString):
		v.report(at, "is not a list of strings; "+
			"write it like [LABEL=etcd, /var/lib/etcd, ext4, \"defaults\", \"0\", \"2\"], "+
			"numbers in quotes")
	case len(fields) == 0:
		v.report(at, "has no fields; write a device and a folder, "+
			"such as [LABEL=etcd, /var/lib/etcd]")
	case len(fields) > maxMountFields:
		v.report(at, "has %d fields; a mount has at most %d: "+
			"device, folder, file system, options, dump and pass", len(fields), maxMountFields)
	}
}

// cloudUser checks that a user of cloud-init has no password, and that the user's keys are public
// keys.
func (v *checker) cloudUser(user map[string]any, at *yamltext.Location) {
	for _, key := range passwordKeys {
		if _, ok := user[key]; ok {
			v.report(at.Key(key), "is a password, and cluster.yaml holds no secrets; "+
				"let the user log in with ssh_authorized_keys")
		}
	}
	keys, _ := user["ssh_authorized_keys"].([]any)
	for i, key := range keys {
		here := at.Key("ssh_authorized_keys").Index(i)
		if s, ok := key.(string); !ok {
			v.report(here, "is not a string; write the public key")
		} else if problem := SSHKeyProblem(s); problem != "" {
			v.report(here, "%s", problem)
		}
	}
}
