package config

import "regexp"

// files are the files around a cluster, by how they begin or by the line that says their kind.
var files = []struct {
	what, flag string
	form       *regexp.Regexp
}{
	{"a bundle", "secrets", regexp.MustCompile(`(?m)^kind: "?Secrets"?\s*$`)},
	{"the public half of a bundle", "public", regexp.MustCompile(`(?m)^kind: "?SecretsPublic"?\s*$`)},
	{"a configuration", "config", regexp.MustCompile(`(?m)^kind: "?Cluster"?\s*$`)},
	{"a kubeconfig", "", regexp.MustCompile(`(?m)^kind: "?Config"?\s*$`)},
	{"the inventory of rendered documents", "", regexp.MustCompile(`\A\s*\{\s*"apiVersion":\s*"[^"]*",\s*"kind":\s*"Inventory"`)},
	{"a boot document (user-data)", "", regexp.MustCompile(`\A#cloud-config\s`)},
	{"a boot document (Ignition)", "", regexp.MustCompile(`\A\s*\{\s*"ignition":`)},
}

// Recognize returns what a file is that may have been named by mistake, and the flag that it
// belongs to, if there is one; empty if it is none of the files that lie around a cluster.
func Recognize(data []byte) (what, flag string) {
	for i := range files {
		if files[i].form.Match(data) {
			return files[i].what, files[i].flag
		}
	}
	return "", ""
}

// mistaken returns what to do if data is another file than a configuration; empty if it may be one.
func mistaken(data []byte) string {
	switch what, flag := Recognize(data); {
	case what == "" || flag == "config":
		return ""
	case flag == "":
		return "this is " + what + "; name the cluster's configuration"
	default:
		return "this is " + what + "; it belongs to --" + flag
	}
}
