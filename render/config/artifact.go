package config

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/wording"
)

// LockPath returns the path of the lock of a configuration, also of one from standard input.
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

// Flag returns the flag that names the configuration in commands, as the function Flag does.
func (c *Cluster) Flag() string { return Flag(c.source.path) }

// Flag returns the flag that names a configuration in commands, with a blank before it. It is empty
// for the file that commands read without one, and for none.
func Flag(path string) string {
	switch path {
	case "", "cluster.yaml", "standard input":
		return ""
	}
	return " --config " + wording.ShellWord(path)
}

// FindArtifact returns a file that machines fetch, from the lock or else from kiln's own table.
func (c *Cluster) FindArtifact(name, version, arch string) (a target.Artifact, ok bool) {
	return target.FindArtifact(c.knownArtifacts(), name, version, arch)
}

func (c *Cluster) knownArtifacts() []target.Artifact {
	if c.lock != nil {
		return c.lock.Artifacts
	}
	return target.PublishedArtifacts
}

// MachineArtifacts returns what a machine with these settings fetches, without URL and SHA-256, in
// the order of the table of programs.
func (c *Cluster) MachineArtifacts(m *Machine) (out []target.Artifact) {
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

// AllArtifacts returns what the machines fetch, each once, without URL and SHA-256, in order.
func (c *Cluster) AllArtifacts() (out []target.Artifact) {
	for i := range c.Spec.Nodes {
		m := c.EffectiveNode(i)
		out = append(out, c.MachineArtifacts(&m.Machine)...)
	}
	for i := range c.Spec.Pools {
		m := c.EffectivePool(i)
		out = append(out, c.MachineArtifacts(&m.Machine)...)
	}
	names := target.ProgramNames()
	slices.SortFunc(out, func(a, b target.Artifact) int {
		return cmp.Or(cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name)),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Arch, b.Arch))
	})
	return slices.Compact(out)
}

var artifactVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([.+-][0-9A-Za-z.+-]*)?$`)

func artifactVersionProblem(text string) string {
	switch {
	case artifactVersion.MatchString(text):
		return ""
	case artifactVersion.MatchString("v" + text):
		return fmt.Sprintf("%s has no v in front; write v%s", quote(text), text)
	}
	return fmt.Sprintf("%s is not a full version; write it like v2.3.6", quote(text))
}

// artifactURLProblem returns why a string is not a URL from which a machine can fetch, "" if it is
// one. The hook has it as one word of a line.
func artifactURLProblem(text string) string {
	if problem := urlProblem(text, "https", "http"); problem != "" {
		return problem
	}
	if !plainURL.MatchString(text) {
		return fmt.Sprintf("%s has characters that a URL has to escape; write them as %%20 and "+
			"so on", quote(text))
	}
	return ""
}

// PinsImages reports whether the lock of the cluster names the content of every image.
func (c *Cluster) PinsImages() bool { return c.lock != nil && c.lock.Images != nil }

// Pinned returns an image's reference with the digest of the lock, if the lock has images and the
// reference none. problem says why machines may not run it.
func (c *Cluster) Pinned(reference string) (pinned, problem string) {
	if !c.PinsImages() {
		return reference, ""
	}
	lock, _ := c.LockName()
	name, digest := target.SplitDigest(reference)
	i := slices.IndexFunc(c.lock.Images, func(i target.Image) bool { return i.Name == name })
	switch {
	case i < 0 && digest == "":
		return reference, fmt.Sprintf("image %s: not in %s, which lists all images that machines "+
			"may run; kiln lock%s adds it", reference, lock, c.Flag())
	case i < 0:
		return reference, ""
	case digest == "":
		return name + "@" + c.lock.Images[i].Digest, ""
	case digest != c.lock.Images[i].Digest:
		return reference, fmt.Sprintf("image %s: %s has another digest for %s, %s; correct one of "+
			"them", reference, lock, name, c.lock.Images[i].Digest)
	}
	return reference, ""
}
