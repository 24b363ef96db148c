package config

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/text/wording"
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
		v.ownUser(user, at.Key("users").Index(i))
		v.ownUser(fields["name"], at.Key("users").Index(i))
	}
	groups, _ := config["groups"].([]any)
	for i, group := range groups {
		fields, _ := group.(map[string]any)
		v.ownUser(group, at.Key("groups").Index(i))
		for name := range fields {
			v.ownUser(name, at.Key("groups").Index(i))
		}
	}
	mounts, _ := config["mounts"].([]any)
	seen := map[string]int{}
	for i, mount := range mounts {
		here := at.Key("mounts").Index(i)
		v.cloudMount(mount, here)
		if fields, _ := mount.([]any); len(fields) > 1 {
			folder, _ := fields[1].(string)
			if first, again := seen[folder]; again && strings.HasPrefix(folder, "/") {
				v.report(here, "mounts[%d] is at %s already, and this one would hide it; remove "+
					"one", first, folder)
			}
			seen[folder] = i
		}
	}
	for i, label := range diskLabels(config) {
		made, _ := config["fs_setup"].([]any)[i].(map[string]any)
		kind, _ := made["filesystem"].(string)
		if most := maxLabel[kind]; most > 0 && len(label) > most {
			v.report(at.Key("fs_setup").Index(i).Key("label"), "%s has %d bytes, and a label of "+
				"%s has at most %d; shorten it, in mounts too", quote(label), len(label), kind,
				most)
		}
	}
}

// maxLabel is how many bytes the label of a file system may have (Ignition 2.27,
// config/v3_5/types/filesystem.go; mkfs of xfsprogs fails, others cut the label off).
var maxLabel = map[string]int{
	"btrfs": 255, "ext2": 16, "ext3": 16, "ext4": 16, "swap": 15, "vfat": 11, "xfs": 12,
}

// diskLabels returns the label of each file system that cloud-init makes, "" for one without.
func diskLabels(config map[string]any) (labels []string) {
	made, _ := config["fs_setup"].([]any)
	for _, entry := range made {
		fields, _ := entry.(map[string]any)
		label, _ := fields["label"].(string)
		labels = append(labels, label)
	}
	return labels
}

// mountLabels checks that a mount does not misspell the label of a file system that cloud-init
// makes on the machine, and that no other mount names. Disks may bring other labels.
func (v *checker) mountLabels(m settings) {
	mounts, _ := m.CloudConfig["mounts"].([]any)
	labels := make([]string, len(mounts)) // "" for a device of another name
	for i, mount := range mounts {
		if fields, _ := mount.([]any); len(fields) > 0 {
			device, _ := fields[0].(string)
			device = strings.Replace(device, "/dev/disk/by-label/", "LABEL=", 1)
			if label, ok := strings.CutPrefix(device, "LABEL="); ok {
				labels[i] = label
			}
		}
	}
	unused := slices.DeleteFunc(diskLabels(m.CloudConfig), func(made string) bool {
		return made == "" || slices.Contains(labels, made)
	})
	for i, label := range labels {
		if near := wording.Nearest(label, unused); label != "" && near != "" {
			at := v.layerAt(m, m.Source["cloudConfig.mounts"]).Key("cloudConfig").Key("mounts")
			v.reportOnce(at.Index(i).Index(0), "no disk of fs_setup has the label %s; did you "+
				"mean %s?", quote(label), quote(near))
		}
	}
}

func (v *checker) ownUser(name any, at *yamltext.Location) {
	if name == "etcd" {
		v.report(at, "the user and the group etcd are kiln's or the image's, and cloud-init makes "+
			"no second one; remove it, and write profile.etcdUser if the image has it")
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
	default:
		m := append(node.Mounts(map[string]any{"mounts": []any{mount}})[0], "", "")
		if wrong := node.MountProblem(m[1], m[2], m[3]); wrong != "" {
			v.report(at, "%s", wrong)
		}
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

// butane checks that a Butane config is a map with a known variant and a version. Butane checks the
// rest.
func (v *checker) butane(text string, at *yamltext.Location) {
	if text == "" {
		return
	}
	if e := yamltext.Butane.Find([]byte(text)); e != nil {
		v.report(at, "line %d, column %d: %s", e.Line, e.Column, e.Message)
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		v.report(at, "is not valid YAML (%s); check the indentation of the Butane config",
			strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode {
		v.report(at,
			"is not a Butane config; begin it with variant: flatcar or variant: fcos, and version")
		return
	}
	root := &yamltext.Location{}
	variant, _ := yamltext.Find(doc.Content[0], root.Key("variant"))
	version, _ := yamltext.Find(doc.Content[0], root.Key("version"))
	switch {
	case variant == nil:
		v.report(at,
			"has no variant; begin the Butane config with variant: flatcar or variant: fcos")
	case variant.Value != "flatcar" && variant.Value != "fcos":
		v.report(at, "has the variant %s; write variant: flatcar or variant: fcos",
			quote(variant.Value))
	case version == nil || version.Value == "":
		v.report(at,
			"has no version; write that of the Butane specification, such as version: 1.1.0")
	}
}
