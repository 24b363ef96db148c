package assembly

import (
	"kiln/pki"
	"kiln/render/node"
	"kiln/render/plan"
)

// Machine returns everything that m receives: files, folders and links sorted by path, units by
// name. It fails with config.Problems where the configuration asks for something that the rest of
// the machine rules out.
func (r *Cluster) Machine(m *plan.Machine) (*node.Node, error) {
	t := &tree{Cluster: r, m: m, n: &node.Node{
		Name: m.Name, Role: m.Role,
		Login: m.System.Login, AuthorizedKeys: m.Settings.SSHAuthorizedKeys,
	}}
	for _, step := range []func() error{
		t.addTrust,       // trust.go: CAs, certificates and keys
		t.addKubeconfigs, // kubeconfigs.go: how each component reaches the API server
		t.addAPIServer,   // apiserver.go: the settings that the API server reads from files
		t.addStaticPods,  // staticpods.go: the control plane, etcd and the balancer
		t.addKubelet,     // kubelet.go: its configuration, its unit and its time to shut down
		t.addSystem,      // system.go, containerd.go: name, modules, sysctls, container runtime
		t.addPodNetwork,  // podnetwork.go: routes between machines, services closed to pods
		t.addInterfaces,  // interfaces.go: the machine's own network interfaces
		t.addHook,        // hook.go, preflight.go, objects.go: the first boot
		t.addBackup,      // backup.go: snapshots of etcd
		t.addUser,        // user.go, cloudconfig.go, butane.go: what the configuration adds
		t.addFileList,    // filelist.go: the list of all files above, so it comes last
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.n.Sort()
	return t.n, nil
}

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

// addAuthority adds the certificate of a CA. name is the name of the CA's key among the secrets.
func (t *tree) addAuthority(path, owner, name string, ca *pki.Authority, why string) {
	user, group := t.owner(owner)
	t.n.Files = append(t.n.Files, node.File{
		Path: path, Mode: 0o644, User: user, Group: group, Content: ca.PEM(), Why: why,
		Shown: []string{"certificate " + t.Public.Mark(name) + ": " + pki.Summary(ca.Certificate)},
	})
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
