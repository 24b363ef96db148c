package config

import (
	"bytes"
	"io/fs"
	"reflect"
	"regexp"
	"strings"

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
	{"a configuration", "config", regexp.MustCompile(
		`\A(---\s+)?(#.*\n|\s)*apiVersion: "?kiln\.dev/\S+\s+kind: "?Cluster"?\s`)},
	{ofKubeadm, "", ofGroup("kubeadm.k8s.io")},
	{"a configuration of KubeKey", "", ofGroup("kubekey.kubesphere.io")},
	{"a configuration of kOps", "", ofGroup("kops.k8s.io")},
	{"a configuration of Cluster API", "", ofGroup(`([a-z]+\.)?cluster.x-k8s.io`)},
	{"a configuration of k0s", "", ofGroup("k0s(ctl)?.k0sproject.io")},
	{"a configuration of kind", "", ofGroup("kind.x-k8s.io")},
	{"a configuration of k3d", "", ofGroup("k3d.io")},
	{"a configuration of eksctl", "", ofGroup("eksctl.io")},
	{ofKubelet, "", ofGroup("kubelet.config.k8s.io")},
	{
		"a machine configuration of Talos", "",
		regexp.MustCompile(`(?ms)^version: "?v1alpha1"?\s*$.*^machine:|` +
			`^machine:.*^version: "?v1alpha1"?\s*$|^apiVersion: "?v1alpha1"?\s*$`),
	},
	{ofButane, "", regexp.MustCompile(`(?m)^variant: "?[a-z0-9]+"?\s*$`)},
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
	{"a configuration of k3s or RKE2", "", regexp.MustCompile(`(?m)^(cluster-(init|cidr)|cni|` +
		`flannel-backend|node-(label|taint|ip|name)|tls-san|write-kubeconfig-mode):`)},
	{"a configuration of RKE", "", regexp.MustCompile(
		`(?m)^nodes:\n(  )?- (address|user|internal_address|ssh_key_path): `)},
	{anObject, "", ofGroup(`(v1|apps|batch|rbac.authorization.k8s.io|networking.k8s.io)\b`)},
}

// gzipMagic is how a file compressed with gzip begins (RFC 1952).
var gzipMagic = []byte{0x1f, 0x8b}

// Files for which instead has more to say than of others.
const (
	ofKubeadm = "a configuration of kubeadm"
	ofKubelet = "a configuration of the kubelet"
	ofButane  = "a Butane configuration"
	anObject  = "an object of Kubernetes"
)

// ofGroup matches a document whose apiVersion begins with a group, a pattern.
func ofGroup(group string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^apiVersion: "?` + group + `(/|"?\s*$)`)
}

// instead says what to do with a file that is no configuration of kiln's. For any other than these
// and than configurations of other programs, the cluster's configuration has to be named.
var instead = map[string]string{
	ofKubeadm: "kiln init writes one of kiln's, and docs/kubeadm.md says which field is which",
	ofKubelet: "machines.kubelet takes its fields, in the cluster's configuration, which kiln " +
		"init writes",
	ofButane: "machines.butane takes it as a part of the cluster's configuration, which kiln " +
		"init writes",
	anObject: "addons takes files of them, in the cluster's configuration, which kiln init writes",
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

// otherFile returns the problem of a file that is not a configuration, "" if it may be one.
func otherFile(data []byte) string {
	switch what, flag := Recognize(data); {
	case what == "" || flag == "config":
		return ""
	case instead[what] != "":
		return "this is " + what + "; " + instead[what]
	case strings.Contains(what, "configuration of "):
		return "this is " + what + "; kiln init writes one of kiln's"
	case flag == "":
		return "this is " + what + "; name the cluster's configuration"
	default:
		return "this is " + what + "; it belongs to --" + flag
	}
}
