package assembly

import (
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// tree collects the files, folders, links, units and users of one machine while it is assembled.
type tree struct {
	*Cluster
	m *plan.Machine
	n *node.Node
}

// addFile adds a file that root owns and that holds no secret. from lists the fields of the
// configuration that the content is made from.
func (t *tree) addFile(path string, mode uint32, content, why string, from ...string) {
	t.n.Files = append(t.n.Files, node.File{
		Path: path, Mode: mode, Content: []byte(content), Why: why, From: from,
	})
}

// addSecret adds a file of mode 0600 that holds the secret called name. A reviewer sees the name,
// the generation and the lines of shown instead of the content. content is called only with a
// bundle.
func (t *tree) addSecret(
	path, owner, name string, content func(b *pki.Bundle) []byte, why string, shown ...string,
) {
	f := node.File{Path: path, Mode: 0o600, Why: why, Secret: t.Public.Mark(name), Shown: shown}
	f.User, f.Group = t.owner(owner)
	if t.Bundle != nil {
		f.Content = content(t.Bundle)
	}
	t.n.Files = append(t.n.Files, f)
}

// addTrusted adds the CAs that are trusted in the place of signer: two while the CA is rotated.
func (t *tree) addTrusted(path, owner string, signer pki.Signer, why string) {
	t.addAuthorities(path, owner, t.Public.Trusted(signer), why)
}

// addAuthorities adds the certificates of CAs.
func (t *tree) addAuthorities(path, owner string, list []pki.Trusted, why string) {
	f := node.File{Path: path, Mode: 0o644, Why: why}
	f.User, f.Group = t.owner(owner)
	for _, ca := range list {
		f.Content = append(f.Content, ca.PEM()...)
		f.Shown = append(f.Shown, "certificate "+ca.Mark+": "+pki.Summary(ca.Certificate))
	}
	t.n.Files = append(t.n.Files, f)
}

// addDir adds a folder.
func (t *tree) addDir(path string, mode uint32, owner string) {
	user, group := t.owner(owner)
	t.n.Dirs = append(t.n.Dirs, node.Dir{Path: path, Mode: mode, User: user, Group: group})
}

// owner returns the user and group that the document names for an owner: plan.EtcdUser, or empty
// for root. etcd's user is named by number where the system image brings it.
func (t *tree) owner(name string) (user, group string) {
	if name == plan.EtcdUser {
		return t.m.System.Etcd.Owner(name)
	}
	return name, name
}
