package config

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"kiln/render/target"
)

// LockPath returns the path of a configuration's lock: cluster.lock.yaml for cluster.yaml, and for
// a configuration that is no file.
func LockPath(config string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(config, ".yaml"), ".yml")
	if name == config {
		name = path.Join(path.Dir(config), "cluster")
	}
	return name + ".lock.yaml"
}

// LockName returns the base name of the lock, and whether the cluster has one.
func (c *Cluster) LockName() (name string, ok bool) {
	return path.Base(LockPath(c.source.path)), c.lock != nil
}

// Artifact returns a file that machines fetch. It comes from the lock if the cluster has one, and
// else from kiln's own table. ok reports whether it is there.
func (c *Cluster) Artifact(name, version, arch string) (a target.Artifact, ok bool) {
	return target.FindArtifact(c.artifacts(), name, version, arch)
}

// artifacts returns all files that machines may fetch.
func (c *Cluster) artifacts() []target.Artifact {
	if c.lock != nil {
		return c.lock
	}
	return target.Artifacts
}

// ArtifactVersions returns the versions of what a machine with these settings fetches, by program.
func (c *Cluster) ArtifactVersions(m *Machine) map[string]string {
	out := map[string]string{
		"kubelet": m.KubeletVersion, "containerd": m.Binaries.Containerd, "runc": m.Binaries.Runc,
		"cniPlugins": m.Binaries.CNIPlugins, "crictl": m.Binaries.Crictl,
	}
	for _, p := range target.Programs {
		if out[p.Name] == "" {
			out[p.Name] = p.Version
		}
	}
	if out["kubelet"] == "" {
		out["kubelet"] = c.Spec.KubernetesVersion
	}
	return out
}

// Wanted returns what the machines fetch, each once, in the order of the table of programs, then by
// version and architecture. It has no URL and no SHA-256.
func (c *Cluster) Wanted() (out []target.Artifact) {
	add := func(m *Effective) {
		if !m.Binaries.Download() {
			return
		}
		for name, version := range c.ArtifactVersions(&m.Machine) {
			a := target.Artifact{Name: name, Version: version, Arch: m.Arch}
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	for i := range c.Spec.Nodes {
		m := c.EffectiveNode(i)
		add(&m)
	}
	for i := range c.Spec.Pools {
		m := c.EffectivePool(i)
		add(&m)
	}
	names := target.ProgramNames()
	slices.SortFunc(out, func(a, b target.Artifact) int {
		return cmp.Or(cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name)),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Arch, b.Arch))
	})
	return out
}
