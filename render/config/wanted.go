package config

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"kiln/render/target"
)

// LockPath returns the path of a configuration's lock: cluster.lock.yaml for cluster.yaml, and for
// a configuration from standard input.
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
		return c.lock.Artifacts
	}
	return target.Artifacts
}

// Fetched returns what a machine with these settings fetches, in the order of the table of
// programs: names, versions and architectures, without URL and SHA-256. It is nil if the machine
// fetches nothing.
func (c *Cluster) Fetched(m *Machine) (out []target.Artifact) {
	for _, p := range target.ProgramsOf(m.Binaries.Source, m.OS) {
		version := p.Version
		if p.Version == "" {
			version = c.KubeletVersion(m)
		} else if set := m.Binaries.versions()[p.Name]; set != "" {
			version = set
		}
		out = append(out, target.Artifact{Name: p.Name, Version: version, Arch: m.Arch})
	}
	return out
}

// KubeletVersion returns the version of the kubelet on a machine with these settings.
func (c *Cluster) KubeletVersion(m *Machine) string {
	return cmp.Or(m.KubeletVersion, c.Spec.KubernetesVersion)
}

// Wanted returns what the machines fetch, each once, in the order of the table of programs, then by
// version and architecture. It has no URL and no SHA-256.
func (c *Cluster) Wanted() (out []target.Artifact) {
	for i := range c.Spec.Nodes {
		m := c.EffectiveNode(i)
		out = append(out, c.Fetched(&m.Machine)...)
	}
	for i := range c.Spec.Pools {
		m := c.EffectivePool(i)
		out = append(out, c.Fetched(&m.Machine)...)
	}
	names := target.ProgramNames()
	slices.SortFunc(out, func(a, b target.Artifact) int {
		return cmp.Or(cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name)),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Arch, b.Arch))
	})
	return slices.Compact(out)
}
