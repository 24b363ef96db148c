package review

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"kiln/pki"
	"kiln/render/assembly"
	"kiln/render/change"
	"kiln/render/credential"
	"kiln/render/document"
	"kiln/render/layout"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/secret"
)

// FromDocuments returns the state of a cluster from the documents that its inventory lists; open returns
// a document by its path. A document does not name its secrets: the inventory names them, and the table
// of secrets knows where each lies. Two things cannot be found out: the generation of a CA whose key is on
// no machine, and the operator's kubeconfig.
func FromDocuments(inv *document.Inventory, open func(name string) ([]byte, error)) (*change.Cluster, error) {
	t := newTwin(&change.Cluster{Name: inv.Name, UUID: inv.Cluster, Version: inv.Kubernetes}, inv.Facts)
	known := map[string]bool{} // all secrets of the cluster
	for _, e := range inv.Documents {
		t.addHead(&change.Machine{
			Pool: e.Pool, Name: e.Node, Role: e.Role, OS: e.OS, Platform: e.Platform, Format: e.Format,
		}, e.Kubelet, e.Addresses, e.ValidUntil)
		for _, name := range e.Secrets {
			known[name] = true
		}
	}
	for i, e := range inv.Documents {
		data, err := open(e.Document)
		if err != nil {
			return nil, err
		}
		u, err := ParseDocument(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Document, err)
		}
		if e.Body != nil {
			body, err := open(e.Body.Document)
			if err == nil {
				err = u.Fetch(body)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Body.Document, err)
			}
		}
		for _, name := range e.Others {
			if path.Base(name) == document.NetworkConfigFile {
				if u.node.NetworkConfig, err = open(name); err != nil {
					return nil, err
				}
			}
		}
		m := &marks{machine: e.Node, own: map[string]bool{}, known: known}
		for _, name := range e.Secrets {
			m.own[name] = true
		}
		m.restore(u.node)
		if err := t.Add(i, u.node); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Document, err)
		}
	}
	return t.State(), nil
}

// marks gives the files of an unpacked machine the marks that they had when it was rendered.
type marks struct {
	machine    string
	own, known map[string]bool // names and generations of secrets: the machine's, the cluster's
	objects    map[string]string
}

func (m *marks) restore(n *node.Node) {
	m.objects = map[string]string{}
	index := n.File(plan.ObjectsDir + "index")
	var called []string
	if index != nil {
		for line := range strings.Lines(string(index.Content)) {
			in, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			m.objects[name] = in
			called = append(called, name+" is "+m.called(name))
		}
	}
	for i := range n.Files {
		f := &n.Files[i]
		f.Secret = m.secret(f)
		f.Shown = m.shown(f)
	}
	if index != nil {
		index.Shown = called
	}
}

// secret is the mark of a file; empty if it is none.
func (m *marks) secret(f *node.File) string {
	if dir, name := path.Split(f.Path); dir == plan.ObjectsDir {
		if token := m.token(name); token != "" {
			return token
		}
		if mark := "object " + m.objects[name]; m.own[mark] {
			return mark
		}
	}
	for _, k := range secret.Kinds {
		if k.Path != f.Path {
			continue
		}
		if mark := generationOf(m.own, k.NameOn(m.machine)); mark != "" {
			return mark
		}
	}
	switch mark := "file " + f.Path; {
	case m.own[mark]:
		return mark
	case credential.Holds(f.Content):
		return change.Unknown
	}
	return ""
}

// token is the mark of a bootstrap token's Secret, by its file's name: no other object has such a path.
func (m *marks) token(name string) string {
	_, called, ok := strings.Cut(strings.TrimSuffix(name, ".yaml"), "-secret-")
	if !ok || !strings.Contains(m.objects[name], "/namespaces/kube-system/secrets/bootstrap-token-") {
		return ""
	}
	if machine, ok := strings.CutPrefix(called, assembly.NodeTokenFile); ok {
		return generationOf(m.own, pki.TokenName(&plan.Machine{Name: machine}))
	}
	pool, ok := strings.CutPrefix(called, assembly.PoolTokenFile)
	if !ok {
		return ""
	}
	return generationOf(m.own, pki.TokenName(&plan.Machine{Name: pool, Pool: true}))
}

// called is an object's path in the API, as everybody may know it.
func (m *marks) called(name string) string {
	in := m.objects[name]
	if token := m.token(name); token != "" {
		return path.Dir(in) + "/bootstrap-token-<id of " + token + ">"
	}
	return in
}

// generationOf is the name as it is among these, with its generation if it has one; empty if it is not.
func generationOf(names map[string]bool, name string) string {
	if names[name] {
		return name
	}
	for have := range names {
		if base, _, ok := strings.Cut(have, " g"); ok && base == name {
			return have
		}
	}
	return ""
}

// shown is what is said in place of a file's content, or of a certificate.
func (m *marks) shown(f *node.File) (lines []string) {
	switch f.Path {
	case plan.KilnDir + "/files":
		return []string{assembly.SumsShown}
	case plan.ServicePub:
		return []string{"<public key of " + generationOf(m.known, "service-account") + ">"}
	}
	name := m.certificate(f)
	if name == "" && f.Secret == "" {
		return nil
	}
	for _, line := range certificates(f.Content) {
		lines = append(lines, strings.TrimSpace("certificate "+name)+strings.TrimPrefix(line, "certificate"))
	}
	return lines
}

var etcdClientCert, _ = plan.Cert("apiserver-etcd-client")

// certificate is the name of the secret that belongs to a file with a certificate, if it is one of kiln's own. What an etcd of somebody else's is
// reached with is not.
func (m *marks) certificate(f *node.File) string {
	if m.own["external-etcd-client"] && (f.Path == plan.EtcdCA || f.Path == etcdClientCert) {
		return ""
	}
	if file := layout.Of(f.Path); file != nil && file.Authority != "" {
		return cmp.Or(generationOf(m.known, file.Authority), file.Authority)
	}
	stem := strings.TrimSuffix(f.Path, ".crt")
	for _, k := range secret.Kinds {
		if k.Path == f.Path || stem != f.Path && k.Path == stem+".key" {
			if mark := generationOf(m.own, k.NameOn(m.machine)); mark != "" {
				return mark
			}
		}
	}
	return ""
}
