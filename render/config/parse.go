package config

import (
	"bytes"
	"cmp"
	"io/fs"
	"reflect"
	"regexp"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// Parse turns the bytes of a cluster.yaml into a Cluster that has all defaults and is valid. The
// error is of type Problems and has everything that is wrong with the file, in file order. path is
// the file as the user named it, for messages; a Place has its base name alone. dir is the folder
// of the file, from which Parse reads the files that it names; with nil it may name none.
//
// The Cluster must not be changed afterwards: its machines share maps and lists.
func Parse(path string, data []byte, dir fs.FS) (*Cluster, error) {
	return parse(path, data, dir, mode{})
}

// ParsePublic is Parse for a place without secrets. The files with secrets that cluster.yaml names
// may be missing: those of files and scripts that are marked secret, and the key of an external
// etcd. Text returns nil for them.
func ParsePublic(path string, data []byte, dir fs.FS) (*Cluster, error) {
	return parse(path, data, dir, mode{public: true})
}

// ParseUnlocked is ParsePublic without the lock. The machines may fetch what neither the lock nor
// kiln's own table has: the Cluster is for making its lock, and not for a plan.
func ParseUnlocked(path string, data []byte, dir fs.FS) (*Cluster, error) {
	return parse(path, data, dir, mode{public: true, unlocked: true})
}

type mode struct {
	public   bool // files with secrets
	unlocked bool // the lock, and what the machines fetch in it
}

func parse(path string, data []byte, dir fs.FS, may mode) (*Cluster, error) {
	r := &reporter{file: path}
	if problem := otherFile(data); problem != "" {
		r.add(0, 0, "", problem)
		return nil, r.problems()
	}
	root := readDocument(data, r)
	if root == nil {
		return nil, r.problems()
	}
	r.root = root
	c := &Cluster{source: &source{path: path, root: root}}
	at, _ := locations()
	d := decoder{reporter: r}
	if lostTag.Match(data) {
		d.lines = bytes.Split(bytes.TrimPrefix(data, []byte(byteOrderMark)), []byte("\n"))
	}
	if !isOurs(root, d, at, reflect.TypeFor[Cluster]()) {
		return nil, r.problems()
	}
	d.value(root, reflect.ValueOf(c).Elem(), nil, at)
	setDefaults(c)
	load(c, dir, may.public, r)
	c.readDropIns()
	var broken Problems
	if !may.unlocked {
		c.lock, broken = readLock(path, dir)
	}
	c.anyArtifact = may.unlocked || len(broken) > 0
	c.roles = newRoleLayers(c)
	c.values = readValues(c)
	validate(c, r)
	r.placeholders(root, at, false)
	if found := append(r.problems(), broken...); len(found) > 0 {
		return nil, found
	}
	c.warned = inOrder(r.warned)
	return c, nil
}

// lostTag matches what may be the tag "!" in front of a value. yaml.v3 drops that tag.
var lostTag = regexp.MustCompile(`(?m)[:\[{,-][ \t]+![ \t\r\n]`)

// isOurs reports whether apiVersion and kind are those of a type. If not, that is the only problem.
func isOurs(root *yaml.Node, d decoder, at *yamltext.Location, t reflect.Type) bool {
	before := len(d.found)
	fields := structs[t]
	for _, key := range []string{"apiVersion", "kind"} {
		here := at.Key(key)
		if n, _ := yamltext.Find(root, here); n != nil && n.Kind == yaml.ScalarNode {
			if s, ok := d.string(n, here); ok {
				d.checkAllowed(n, s, fields.byName[key], here)
			}
		}
	}
	return len(d.found) == before
}

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

// Recognize returns what a file is, "" if it is none around a cluster, and the flag that takes it.
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
