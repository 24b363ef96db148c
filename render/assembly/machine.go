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
		t.addTrust, t.addKubeconfigs, t.addAPIServer, t.addStaticPods, t.addKubelet, t.addSystem, t.addPodNetwork, t.addInterfaces, t.addHook, t.addBackup, t.addUser, t.addFileList,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.n.Sort()
	return t.n, nil
}

// addFile adds a file of root's that is not secret. from are the fields of the configuration that it is made from.
func (t *tree) addFile(path string, mode uint32, content, why string, from ...string) {
	t.n.Files = append(t.n.Files, node.File{Path: path, Mode: mode, Content: []byte(content), Why: why, From: from})
}

// addSecret adds a file of mode 0600 with a secret: name and generation, and what is shown, are all that a reviewer may see of
// it. Without the bundle content is not called.
func (t *tree) addSecret(path, owner, name string, content func(b *pki.Bundle) []byte, why string, shown ...string) {
	f := node.File{Path: path, Mode: 0o600, Why: why, Secret: t.Public.Mark(name), Shown: shown}
	f.User, f.Group = t.owner(owner)
	if t.Bundle != nil {
		f.Content = content(t.Bundle)
	}
	t.n.Files = append(t.n.Files, f)
}

// addAuthority adds the certificate of a CA, whose secret has that name.
func (t *tree) addAuthority(path, owner, name string, ca *pki.Authority, why string) {
	user, group := t.owner(owner)
	t.n.Files = append(t.n.Files, node.File{
		Path: path, Mode: 0o644, User: user, Group: group, Content: ca.PEM(), Why: why,
		Shown: []string{"certificate " + t.Public.Mark(name) + ": " + pki.Summary(ca.Certificate)},
	})
}

func (t *tree) addDir(path string, mode uint32, owner string) {
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
