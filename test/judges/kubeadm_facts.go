package judges

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	proxyscheme "k8s.io/kubernetes/pkg/proxy/apis/config/scheme"
	"sigs.k8s.io/yaml"
)

// facts is what a machine consists of: things such as "cert apiserver" or "object Service kube-system/kube-dns", each
// with its fields. Fields that are empty are left out.
type facts map[string]map[string]string

func (f facts) set(thing, field string, value any) {
	if f[thing] == nil {
		f[thing] = map[string]string{}
	}
	f[thing][field] = fmt.Sprint(value)
}

// kubeadmWrites are the folders that kubeadm writes to; what kiln writes elsewhere is no matter for a comparison. etcd's
// own folder is kiln's counterpart of pki/etcd.
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
	for name, value := range flagValues(m.KubeletCommand()) {
		out.set("kubelet", "flag "+name, value)
	}
	return out, nil
}

func kubeadmWritesTo(path string) bool {
	return slices.ContainsFunc(kubeadmWrites, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
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
	user, group := m.owners(file)
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
			f.set(thing, runAsUser, m.userName(f[thing][runAsUser]))
			f.set(thing, runAsGroup, m.groupName(f[thing][runAsGroup]))
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

// caDirs are folders with CA certificates that kubeadm mounts if the machine that it runs on has them.
var caDirs = []string{
	"/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
	"/usr/local/share/ca-certificates", "/usr/share/ca-certificates",
}

// staticPod adds a pod with its flags one by one, and its volumes by where they are mounted, so that neither order nor
// names matter.
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
	thing := "object " + u.GetKind() + " " + strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
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

// defaulted reads a document and fills in what Kubernetes takes what is absent for, so that a default that is written
// out is no difference. Kinds that it does not know are taken as they are.
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

// kubeadmKinds know the kinds of documents: API objects, the kubelet's and kube-proxy's configuration.
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

// flatten adds every value within a value as a field of its own. Elements of a list go by their names, if they have some.
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

// kubeconfig adds a kubeconfig, and the certificate that it names or holds. It has one cluster, one user and one context.
func (f facts) kubeconfig(m *Machine, thing string, text []byte) error {
	var config clientcmdapi.Config
	if err := yaml.Unmarshal(text, &config); err != nil {
		return err
	}
	if len(config.Clusters) != 1 || len(config.AuthInfos) != 1 || len(config.Contexts) != 1 {
		return errors.New("not one cluster, one user and one context")
	}
	cluster, user := &config.Clusters[0].Cluster, &config.AuthInfos[0].AuthInfo
	data := user.ClientCertificateData
	if file := m.File(m.linkTarget(user.ClientCertificate)); file != nil {
		data = file.Content
	} else if user.ClientCertificate != "" {
		return fmt.Errorf("%s is absent", user.ClientCertificate)
	}
	if len(data) > 0 {
		cert, err := firstCertificate(data)
		if err != nil {
			return err
		}
		f.certificate(thing, "client ", cert)
	}

	f.set(thing, "current-context", config.CurrentContext)
	f.set(thing, "context name", config.Contexts[0].Name)
	f.set(thing, "cluster name", config.Clusters[0].Name)
	f.set(thing, "user name", config.AuthInfos[0].Name)
	embedded(&cluster.CertificateAuthority, cluster.CertificateAuthorityData)
	embedded(&user.ClientCertificate, user.ClientCertificateData)
	embedded(&user.ClientKey, user.ClientKeyData)
	cluster.CertificateAuthorityData, user.ClientCertificateData, user.ClientKeyData = nil, nil, nil
	for _, part := range []any{cluster, user, &config.Contexts[0].Context} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part)
		if err != nil {
			return err
		}
		f.flatten(thing, "", fields)
	}
	return nil
}

// embedded says so of what a kubeconfig holds itself instead of naming a file.
func embedded(file *string, data []byte) {
	if len(data) > 0 {
		*file = "embedded"
	}
}

// certificate adds what a certificate says.
func (f facts) certificate(thing, prefix string, cert *x509.Certificate) {
	set := func(field string, value any) { f.set(thing, prefix+field, value) }
	set("CN", cert.Subject.CommonName)
	set("issuer", cert.Issuer.CommonName)
	set("CA", cert.IsCA)
	set("key", keyAlgorithm(cert.PublicKey))
	set("days", int(cert.NotAfter.Sub(cert.NotBefore).Hours())/24)
	if len(cert.Subject.Organization) > 0 {
		set("O", strings.Join(cert.Subject.Organization, ","))
	}
	for bit, name := range certKeyUsages {
		if cert.KeyUsage&(1<<bit) != 0 {
			set("key usage "+name, "yes")
		}
	}
	for _, usage := range cert.ExtKeyUsage {
		set("usage "+certExtKeyUsages[usage], "yes")
	}
	for _, name := range cert.DNSNames {
		set("SAN "+name, "yes")
	}
	for _, address := range cert.IPAddresses {
		addr, _ := netip.AddrFromSlice(address)
		set("SAN "+addr.Unmap().String(), "yes")
	}
}

// certKeyUsages names the bits of x509.KeyUsage.
var certKeyUsages = []string{
	"digitalSignature", "contentCommitment", "keyEncipherment", "dataEncipherment", "keyAgreement",
	"certSign", "crlSign", "encipherOnly", "decipherOnly",
}

var certExtKeyUsages = map[x509.ExtKeyUsage]string{
	x509.ExtKeyUsageAny: "any", x509.ExtKeyUsageServerAuth: "serverAuth", x509.ExtKeyUsageClientAuth: "clientAuth",
}

func keyAlgorithm(key any) string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", key.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA-" + strings.ReplaceAll(key.Params().Name, "-", "")
	}
	return fmt.Sprintf("%T", key)
}

// firstCertificate reads the first certificate of a PEM file.
func firstCertificate(text []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errors.New("no certificate")
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
