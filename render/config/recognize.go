package config

import (
	"bytes"
	"cmp"
	"regexp"
)

// knownFiles are the files that lie around a cluster: what each is, the flag that takes it, and how
// it begins or which line says its kind.
var knownFiles = []struct {
	what, flag string
	form       *regexp.Regexp
}{
	{
		"a configuration of kubeadm", "",
		regexp.MustCompile(`(?m)^apiVersion: "?kubeadm\.k8s\.io/`),
	},
	{
		"a configuration of KubeKey", "",
		regexp.MustCompile(`(?m)^apiVersion: "?kubekey\.kubesphere\.io/`),
	},
	{
		"a machine configuration of Talos", "",
		regexp.MustCompile(`(?ms)^version: "?v1alpha1"?\s*$.*^machine:|` +
			`^machine:.*^version: "?v1alpha1"?\s*$|^apiVersion: "?v1alpha1"?\s*$`),
	},
	{"a Butane configuration", "", regexp.MustCompile(`(?m)^variant: "?[a-z0-9]+"?\s*$`)},
	{"a bundle", "secrets", regexp.MustCompile(`(?m)^kind: "?Secrets"?\s*$`)},
	{
		"the public half of a bundle", "public",
		regexp.MustCompile(`(?m)^kind: "?SecretsPublic"?\s*$`),
	},
	{"a configuration", "config", regexp.MustCompile(`(?m)^kind: "?Cluster"?\s*$`)},
	{"a kubeconfig", "", regexp.MustCompile(`(?m)^kind: "?Config"?\s*$`)},
	{
		"the inventory of rendered documents", "",
		regexp.MustCompile(`\A\s*\{\s*"apiVersion":\s*"[^"]*",\s*"kind":\s*"Inventory"`),
	},
	{
		"a boot document (user-data)", "",
		regexp.MustCompile(`\A(#cloud-config\s|#!/|#include\s|Content-Type: multipart/)`),
	},
	{"a boot document (Ignition)", "", regexp.MustCompile(`\A\s*\{\s*"ignition":`)},
}

// gzipMagic is how a file compressed with gzip begins (RFC 1952).
var gzipMagic = []byte{0x1f, 0x8b}

// instead says what to do with a file that is no configuration; for any other file, the cluster's
// configuration has to be named.
var instead = map[string]string{
	"a configuration of kubeadm": "kiln init writes one of kiln's, " +
		"and docs/kubeadm.md says which field is which",
	"a configuration of KubeKey":       "kiln init writes one of kiln's",
	"a machine configuration of Talos": "kiln init writes one of kiln's",
	"a Butane configuration": "machines.butane takes it as a part of the cluster's " +
		"configuration, which kiln init writes",
}

// Recognize returns what a file is, and the flag that takes it, if there is one. what is "" for a
// file that is not among those that lie around a cluster.
func Recognize(data []byte) (what, flag string) {
	if bytes.HasPrefix(data, gzipMagic) {
		return "a compressed file, such as a boot document (user-data)", ""
	}
	for i := range knownFiles {
		if knownFiles[i].form.Match(data) {
			return knownFiles[i].what, knownFiles[i].flag
		}
	}
	return "", ""
}

// otherFile returns the problem of a file that is not a configuration, "" if it may be one.
func otherFile(data []byte) string {
	switch what, flag := Recognize(data); {
	case what == "" || flag == "config":
		return ""
	case flag == "":
		return "this is " + what + "; " +
			cmp.Or(instead[what], "name the cluster's configuration")
	default:
		return "this is " + what + "; it belongs to --" + flag
	}
}
