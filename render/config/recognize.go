package config

import "regexp"

// knownFiles are the files that lie around a cluster: what each is, the flag that takes it, and how
// it begins or which line says its kind.
var knownFiles = []struct {
	what, flag string
	form       *regexp.Regexp
}{
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
	{"a boot document (user-data)", "", regexp.MustCompile(`\A#cloud-config\s`)},
	{"a boot document (Ignition)", "", regexp.MustCompile(`\A\s*\{\s*"ignition":`)},
}

// Recognize returns what a file is, and the flag that takes it, if there is one. what is "" for a
// file that is not among those that lie around a cluster.
func Recognize(data []byte) (what, flag string) {
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
		return "this is " + what + "; name the cluster's configuration"
	default:
		return "this is " + what + "; it belongs to --" + flag
	}
}
