package judges

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	proxyscheme "k8s.io/kubernetes/pkg/proxy/apis/config/scheme"
	"sigs.k8s.io/yaml"
)

// facts is the content of a machine: things such as "cert apiserver" or "object Service
// kube-system/kube-dns", each with its fields. Empty fields are left out.
type facts map[string]map[string]string

func (f facts) set(thing, field string, value any) {
	if f[thing] == nil {
		f[thing] = map[string]string{}
	}
	f[thing][field] = fmt.Sprint(value)
}

// kubeadmWrites are the folders that kubeadm writes to. Files that kiln writes elsewhere are not
// compared. etcd's own folder is kiln's counterpart of pki/etcd.
var kubeadmWrites = []string{"/etc/kubernetes", "/etc/etcd", "/var/lib/etcd", "/var/lib/kubelet"}

// readFacts takes a machine apart.
func readFacts(m *Machine) (facts, error) {
	out := facts{}
	for i := range m.Dirs {
		if d := &m.Dirs[i]; kubeadmWritesTo(d.Path) {
			out.file(m, "dir "+d.Path, d)
		}
	}
	for i := range m.Files {
		f := &m.Files[i]
		if kubeadmWritesTo(f.Path) {
			out.file(m, thing(f.Path), f)
		}
		if err := out.content(m, f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	for name, value := range flagValues(m.Command("kubelet")) {
		out.set("kubelet", "flag "+name, value)
	}
	return out, nil
}

func kubeadmWritesTo(path string) bool {
	return slices.ContainsFunc(kubeadmWrites,
		func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}

// thing is what a file is. etcd's certificates are the same thing wherever they lie.
func thing(file string) string {
	dir, base := path.Split(file)
	name, ext := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	switch {
	case dir == "/etc/kubernetes/manifests/":
		return "pod " + name
	case dir == "/etc/kubernetes/" && ext == ".conf":
		return "kubeconfig " + base
	case dir == "/etc/etcd/pki/" && name != "ca":
		dir = "/etc/kubernetes/pki/etcd/"
	}
	if owned, ok := strings.CutPrefix(dir, "/etc/kubernetes/pki/"); ok {
		if kind := map[string]string{".crt": "cert ", ".key": "key "}[ext]; kind != "" {
			return kind + owned + name
		}
	}
	return "file " + dir + base
}

// file adds what is said of a file or folder beside its content.
func (f facts) file(m *Machine, thing string, file *File) {
	user, group := m.Owners(file)
	f.set(thing, "path", file.Path)
	f.set(thing, "mode", fmt.Sprintf("%04o", file.Mode))
	f.set(thing, "owner", user+":"+group)
}

// Fields of a pod whose numbers are another's on each system.
const (
	runAsUser  = "spec.securityContext.runAsUser"
	runAsGroup = "spec.securityContext.runAsGroup"
)

// content adds what a file says.
func (f facts) content(m *Machine, file *File) error {
	dir, base := path.Split(file.Path)
	thing := thing(file.Path)
	switch {
	case strings.HasPrefix(thing, "pod "):
		err := f.staticPod(thing, file.Content)
		if _, set := f[thing][runAsUser]; set {
			f.set(thing, runAsUser, m.UserName(f[thing][runAsUser]))
			f.set(thing, runAsGroup, m.GroupName(f[thing][runAsGroup]))
		}
		return err
	case strings.HasPrefix(thing, "kubeconfig "):
		return f.kubeconfig(m, thing, file.Content)
	case file.Path == "/var/lib/kubelet/config.yaml":
		content, err := defaulted(file.Content)
		f.flatten("kubelet", "", content)
		return err
	case file.Path == nodeObject, dir == objectsDir+"/" && path.Ext(base) == ".yaml":
		return f.object(file.Content)
	case kubeadmWritesTo(dir) && path.Ext(base) == ".crt":
		cert, err := firstCertificate(file.Content)
		if err != nil {
			return err
		}
		f.certificate(thing, "", cert)
	case base == "sa.pub":
		block, _ := pem.Decode(file.Content)
		if block == nil {
			return errors.New("no PEM")
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		f.set(thing, "key", keyAlgorithm(key))
		return err
	}
	return nil
}

// caDirs are the folders with CA certificates that kubeadm mounts if they exist on the machine on
// which it runs.
var caDirs = []string{
	"/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
	"/usr/local/share/ca-certificates", "/usr/share/ca-certificates",
}

// staticPod adds a pod, with one field per flag, and one per volume, named by its mount path. So
// the order of flags and the names of volumes do not matter.
func (f facts) staticPod(thing string, text []byte) error {
	pod, err := defaulted(text)
	if err != nil {
		return err
	}
	containers, _, _ := unstructured.NestedSlice(pod, "spec", "containers")
	if len(containers) != 1 {
		return fmt.Errorf("%d containers", len(containers))
	}
	container, _ := containers[0].(map[string]any)
	command, _, err := unstructured.NestedStringSlice(container, "command")
	if err != nil || len(command) == 0 {
		return errors.New("no command")
	}
	f.set(thing, "program", command[0])
	for name, value := range flagValues(command) {
		f.set(thing, "flag "+name, value)
	}

	folders := map[any]map[string]any{}
	volumes, _, _ := unstructured.NestedSlice(pod, "spec", "volumes")
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		folders[volume["name"]], _, _ = unstructured.NestedMap(volume, "hostPath")
	}
	mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
	for _, v := range mounts {
		mount, _ := v.(map[string]any)
		folder, at, form := folders[mount["name"]], fmt.Sprint(mount["mountPath"]), "writable"
		if mount["readOnly"] == true {
			form = "read-only"
		}
		form = fmt.Sprintf("%v %s", folder["type"], form)
		if folder["path"] != at {
			form += fmt.Sprintf(" from %v", folder["path"])
		}
		if form != "DirectoryOrCreate read-only" || !slices.Contains(caDirs, at) {
			f.set(thing, "mount "+at, form)
		}
	}

	delete(container, "command")
	delete(container, "volumeMounts")
	unstructured.RemoveNestedField(pod, "spec", "volumes")
	unstructured.RemoveNestedField(pod, "spec", "containers")
	f.flatten(thing, "", pod)
	f.flatten(thing, "container", container)
	return nil
}

// flagValues returns the flags of a command line; one that is repeated has all its values.
func flagValues(command []string) map[string]string {
	out := map[string]string{}
	for _, word := range command[min(1, len(command)):] {
		name, value, _ := strings.Cut(word, "=")
		if before, ok := out[name]; ok {
			value = before + " " + value
		}
		out[name] = value
	}
	return out
}

// object adds an API object. Files within a ConfigMap are taken apart too.
func (f facts) object(text []byte) error {
	object, err := defaulted(text)
	if err != nil {
		return err
	}
	u := unstructured.Unstructured{Object: object}
	thing := "object " + u.GetKind() + " " +
		strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
	if u.GetKind() == "ConfigMap" {
		data, _, _ := unstructured.NestedStringMap(object, "data")
		for name, value := range data {
			if content, err := defaulted([]byte(value)); err == nil {
				f.flatten(thing, name, content)
			} else {
				f.set(thing, name, value)
			}
		}
		delete(object, "data")
	}
	f.flatten(thing, "", object)
	return nil
}

// defaulted reads a document and fills in Kubernetes' defaults, so that a default that one side
// writes out is no difference. It leaves kinds that it does not know as they are.
func defaulted(text []byte) (map[string]any, error) {
	for _, known := range kubeadmKinds {
		object, _, err := known.decoder.Decode(text, nil, nil)
		if err != nil {
			continue
		}
		known.scheme.Default(object)
		return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	return object, nil
}

// kubeadmKinds are the kinds of documents that have defaults: API objects and the configurations of
// the kubelet and kube-proxy.
var kubeadmKinds = func() []kinds {
	kubelet, kubeletCodecs, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		panic(err) // its own kinds do not fit together
	}
	return []kinds{
		{legacyscheme.Scheme, legacyscheme.Codecs.UniversalDeserializer()},
		{kubelet, kubeletCodecs.UniversalDeserializer()},
		{proxyscheme.Scheme, proxyscheme.Codecs.UniversalDeserializer()},
	}
}()

type kinds struct {
	scheme  *runtime.Scheme
	decoder runtime.Decoder
}

// flatten adds every value within a value as a field of its own. An element of a list that has a
// name is called by the name.
func (f facts) flatten(thing, at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			f.flatten(thing, strings.TrimPrefix(at+"."+key, "."), v)
		}
	case []any:
		for i, v := range value {
			element, ok := v.(map[string]any)
			switch name, named := element["name"].(string); {
			case !ok:
				f.set(thing, at, inOneLine(value))
				return
			case named:
				f.flatten(thing, fmt.Sprintf("%s[%s]", at, name), v)
			default:
				f.flatten(thing, fmt.Sprintf("%s[%d]", at, i), v)
			}
		}
	case nil:
	default:
		if value != "" || strings.Contains(at, "labels.") { // an empty label is one
			f.set(thing, at, value)
		}
	}
}

// inOneLine shows the elements of a list in one line.
func inOneLine(values []any) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ",")
}

// linkTarget follows a symbolic link of the machine.
func (m *Machine) linkTarget(file string) string {
	for _, l := range m.Links {
		if l.Path == file && !path.IsAbs(l.Target) {
			return path.Join(path.Dir(file), l.Target)
		} else if l.Path == file {
			return l.Target
		}
	}
	return file
}
