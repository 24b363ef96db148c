package secret

import (
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// Cluster is what the table needs to know of a cluster.
type Cluster struct {
	Plan    *plan.Plan
	Public  *pki.Public
	Objects []manifests.Object // those that the first boot gives to the API server
	// Joining holds the bootstrap tokens that machines may join with, by the names of their
	// Secrets.
	Joining map[string]*pki.Joining
}

// Holding is one secret on one machine: the mark of its file, and the path of the file. The path of
// a folder ends in a slash; then any file in it may hold the secret.
type Holding struct{ Mark, Path string }

// Holdings returns the secrets of this kind that m must hold.
func (k *Kind) Holdings(c *Cluster, m *plan.Machine) []Holding {
	switch {
	case !slices.Contains(k.Roles, m.Role) || k.applies != nil && !k.applies(c.Plan, m):
		return nil
	case k.holdings != nil:
		return k.holdings(c, m)
	}
	return []Holding{{c.Public.Mark(k.NameOn(m.Name)), k.Path}}
}

// NameOn returns the name of the secret of this kind that belongs to a machine or pool.
func (k *Kind) NameOn(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(k.Name, "{machine}", name), "{pool}", name)
}

// Base returns the beginning of a name or mark, which all secrets of one kind share.
func Base(mark string) string {
	if i := strings.IndexAny(mark, "/ "); i >= 0 {
		return mark[:i]
	}
	return mark
}

// externalEtcd returns the client key for an etcd that kiln does not set up.
func externalEtcd(c *Cluster, _ *plan.Machine) []Holding {
	if c.Plan.Config.Spec.ControlPlane.Etcd.External == nil {
		return nil
	}
	return []Holding{{"external-etcd-client", plan.PKIDir + "/apiserver-etcd-client.key"}}
}

// installs returns the install credential, unless nobody would have a use for it.
func installs(c *Cluster, m *plan.Machine) []Holding {
	if !c.Public.HasInstall(m.Name) {
		return nil
	}
	name := pki.InstallBase + "/" + m.Name
	return []Holding{{c.Public.Mark(name), plan.PKIDir + "/install.key"}}
}

// tokenObjects returns the Secrets of all bootstrap tokens.
func tokenObjects(c *Cluster, _ *plan.Machine) (all []Holding) {
	for i := range c.Plan.Machines {
		if m := &c.Plan.Machines[i]; m.Pool {
			for _, j := range c.Public.Joining(m) {
				all = append(all, Holding{j.Mark(), plan.ObjectsDir})
			}
		}
	}
	return all
}

// secretObjects returns the Secrets among the API objects that are not bootstrap tokens of kiln's.
func secretObjects(c *Cluster, _ *plan.Machine) (all []Holding) {
	for _, o := range c.Objects {
		if o.Secret && (c.Joining[o.Name] == nil || o.Namespace != "kube-system") {
			all = append(all, Holding{"object " + o.Path, plan.ObjectsDir})
		}
	}
	return all
}

// logins returns the file with the logins of registries.
func logins(_ *Cluster, m *plan.Machine) []Holding {
	if len(m.Logins()) == 0 {
		return nil
	}
	return []Holding{{"registry-logins", plan.Logins}}
}

// registryKeys returns the client keys that containerd shows registries.
func registryKeys(_ *Cluster, m *plan.Machine) (all []Holding) {
	for i := range m.Settings.Registries {
		if r := &m.Settings.Registries[i]; r.KeyFrom != "" {
			path := plan.RegistryFile(r, "client.key")
			all = append(all, Holding{"registry-client " + path, path})
		}
	}
	return all
}

// secretFiles returns the files and scripts that the user marked as secret, sorted by path.
func secretFiles(_ *Cluster, m *plan.Machine) (all []Holding) {
	for _, f := range m.Settings.Files {
		if f.Secret {
			all = append(all, Holding{"file " + f.Path, f.Path})
		}
	}
	for phase, scripts := range map[string][]config.Script{
		"pre-boot": m.Settings.PreBoot, "post-boot": m.Settings.PostBoot,
	} {
		for _, s := range scripts {
			if s.Secret {
				path := plan.KilnDir + "/" + phase + "/" + s.Name
				all = append(all, Holding{"file " + path, path})
			}
		}
	}
	slices.SortFunc(all, func(a, b Holding) int { return strings.Compare(a.Path, b.Path) })
	return all
}
