package assembly

import (
	"kiln/pki"
	"kiln/render/node"
	"kiln/render/plan"
)

// tree collects what one machine receives.
type tree struct {
	*Cluster
	m *plan.Machine
	n *node.Node
}

// Machine returns everything that m receives. Each step below adds one kind of thing; the manifest of all files is the
// last, for it lists the others.
func (r *Cluster) Machine(m *plan.Machine) (*node.Node, error) {
	t := &tree{Cluster: r, m: m, n: &node.Node{Name: m.Name, Role: m.Role, Login: m.System.Login, AuthorizedKeys: m.Settings.SSHAuthorizedKeys}}
	for _, step := range []func() error{
		t.trust, t.kubeconfigs, t.apiServer, t.pods, t.kubelet, t.system, t.podNetwork, t.interfaces, t.hook, t.backups, t.user, t.fileManifest,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.n.Sort()
	return t.n, nil
}

// file adds a file of root's that is not secret. from are the fields of the configuration that it is made from.
func (t *tree) file(path string, mode uint32, content, why string, from ...string) {
	t.n.Files = append(t.n.Files, node.File{Path: path, Mode: mode, Content: []byte(content), Why: why, From: from})
}

// secret adds a file of mode 0600 with a secret: name and generation, and what is shown, are all that a reviewer may see of
// it. Without the bundle content is not called.
func (t *tree) secret(path, owner, name string, content func(b *pki.Bundle) []byte, why string, shown ...string) {
	f := node.File{Path: path, Mode: 0o600, Why: why, Secret: t.Public.Mark(name), Shown: shown}
	f.User, f.Group = t.owner(owner)
	if t.Bundle != nil {
		f.Content = content(t.Bundle)
	}
	t.n.Files = append(t.n.Files, f)
}

// authority adds the certificate of a CA, whose secret has that name.
func (t *tree) authority(path, owner, name string, ca *pki.Authority, why string) {
	user, group := t.owner(owner)
	t.n.Files = append(t.n.Files, node.File{
		Path: path, Mode: 0o644, User: user, Group: group, Content: ca.PEM(), Why: why,
		Shown: []string{"certificate " + t.Public.Mark(name) + ": " + pki.Summary(ca.Certificate)},
	})
}

func (t *tree) dir(path string, mode uint32, owner string) {
	user, group := t.owner(owner)
	t.n.Dirs = append(t.n.Dirs, node.Dir{Path: path, Mode: mode, User: user, Group: group})
}

// owner returns the user and group in the document for an owner, which is etcd's user or, if empty, root.
func (t *tree) owner(of string) (user, group string) {
	if of == plan.EtcdUser {
		return t.m.System.Etcd.Owner(of)
	}
	return of, of
}
