package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// Keys under which people expect the name of a file, and a content itself.
var (
	fileKeys = []string{
		"contentFrom", "file", "filename", "from", "location", "patchFrom", "path", "source", "src",
	}
	contentKeys = []string{
		"cmd", "command", "contents", "data", "inline", "run", "script", "text",
	}
)

// wrongKeys holds the keys that people know from other programs, with the field that does the same.
var wrongKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Spec](): {
		"controlPlaneEndpoint": "endpoint",
		"hosts":                "nodes",
		"version":              "kubernetesVersion",
	},
	reflect.TypeFor[Network](): {
		"clusterCIDR": "podSubnets", "podCIDR": "podSubnets", "podCIDRs": "podSubnets",
		"clusterDomain": "dnsDomain",
		"kubeProxy":     "proxy", "proxyMode": "proxy",
		"plugin":      "cni",
		"serviceCIDR": "serviceSubnets", "serviceCIDRs": "serviceSubnets",
	},
	reflect.TypeFor[Node](): {
		"fqdn": "name", "host": "name", "hostname": "name",
		"internalAddress": "addresses", "ip": "addresses", "ipAddress": "addresses",
		"ips":        "addresses",
		"macAddress": "mac",
		"type":       "role",
	},
	reflect.TypeFor[Arg](): {"arg": "name", "flag": "name", "key": "name"},
}

// machineKeys are wrongKeys of every type with the settings of machines.
var machineKeys = map[string]string{
	"architecture": "arch",
	"provider":     "platform",
	"runcmd":       "preBoot or postBoot", "ssh_authorized_keys": "sshAuthorizedKeys",
	"sshKeys":     "sshAuthorizedKeys",
	"write_files": "files",
}

// poolCounts are keys under which people expect to say how many machines a pool has.
var poolCounts = []string{"count", "instances", "replicas", "size"}

// fieldFor returns the field that a key of another program stands for in a struct, "" if none is
// known.
func fieldFor(t reflect.Type, known *fieldList, key string) string {
	if field := wrongKeys[t][key]; field != "" {
		return field
	}
	if known.byName["os"] != nil && machineKeys[key] != "" {
		return machineKeys[key]
	}
	fields := []string{"patchFrom", "contentFrom"}
	switch {
	case t == reflect.TypeFor[Addon]():
		fields = []string{"path"}
	case slices.Contains(contentKeys, key):
		fields = []string{"patch", "content"}
	case !slices.Contains(fileKeys, key):
		return ""
	}
	for _, field := range fields {
		if known.byName[field] != nil && field != key {
			return field
		}
	}
	return ""
}

// joinedKey matches a key that has its value in it, because the colon or the space behind it is
// missing.
var joinedKey = regexp.MustCompile(`^(\w+)(:| )[^ ]`)

// splitKey returns the field at the beginning of a key that has its value in it, and what is
// missing behind the field. field is "" for other keys.
func splitKey(key string, known *fieldList) (field, missing string) {
	m := joinedKey.FindStringSubmatch(key)
	if m == nil || known.byName[m[1]] == nil {
		return "", ""
	}
	if m[2] == ":" {
		return m[1], "the space behind the colon is missing"
	}
	return m[1], "the colon is missing"
}

// exampleOf returns how a struct is written in braces: its required fields, and a field that names
// a file. It returns "" if the struct has neither.
func exampleOf(known *fieldList) string {
	var fields string
	for i := range known.list {
		f := &known.list[i]
		value := f.example
		if len(f.enum) > 0 {
			value = f.enum[0]
		}
		if f.name == "patchFrom" || f.name == "contentFrom" {
			value = "FILE"
		} else if !f.required {
			continue
		}
		if fields != "" {
			fields += ", "
		}
		fields += fmt.Sprintf("%s: %s", f.name, value)
	}
	if fields == "" {
		return ""
	}
	return "{" + fields + "}"
}
