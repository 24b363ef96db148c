package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"kiln/render/target"
	"kiln/render/yamlpath"
)

// KindLock is the kind of a lock.
const KindLock = "Lock"

// Lock is the file beside cluster.yaml that names every file which machines may fetch. Without a
// lock they fetch those of kiln's own table.
type Lock struct {
	// APIVersion is the version of this file's format.
	APIVersion string `json:"apiVersion" enum:"kiln.dev/v1alpha1"`
	// Kind says that this file is a lock.
	Kind string `json:"kind" enum:"Lock"`
	// Artifacts are the files.
	Artifacts []LockedArtifact `json:"artifacts"`
}

// LockedArtifact is a file that machines may fetch.
type LockedArtifact struct {
	// Name is what the file is.
	Name string `json:"name" table:"programs"`
	// Version is its version, as the configuration names it.
	Version string `json:"version" example:"v1.36.3"`
	// Arch is the processor architecture.
	Arch string `json:"arch" enum:"amd64,arm64"`
	// URL is where it is published.
	URL string `json:"url" example:"https://dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubelet"`
	// SHA256 is its SHA-256.
	SHA256 string `json:"sha256" example:"64 hexadecimal digits"`
	// Size is its size in bytes.
	Size int `json:"size,omitempty"`
}

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
	known := target.Artifacts
	if c.lock != nil {
		known = c.lock
	}
	for _, a := range known {
		if a.Name == name && a.Version == version && a.Arch == arch {
			return a, true
		}
	}
	return target.Artifact{}, false
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

// ReadLock reads the lock of the configuration in the file path, from the folder dir; nil if there
// is none. The error is of type Problems.
func ReadLock(path string, dir fs.FS) ([]target.Artifact, error) {
	artifacts, problems := readLock(path, dir)
	if len(problems) > 0 {
		return nil, problems
	}
	return artifacts, nil
}

// IsLock reports whether the bytes of the file path are a lock without problems.
func IsLock(path string, data []byte) bool {
	_, problems := parseLock(data, &reporter{file: path})
	return len(problems) == 0
}

// EncodeLock returns the bytes of a lock.
func EncodeLock(artifacts []target.Artifact) []byte {
	var b strings.Builder
	b.WriteString("# What machines fetch at their first boot. kiln lock writes this file; commit " +
		"it.\napiVersion: " + APIVersion + "\nkind: " + KindLock + "\nartifacts:")
	if len(artifacts) == 0 {
		b.WriteString(" []\n")
		return []byte(b.String())
	}
	b.WriteString("\n")
	for _, a := range artifacts {
		fmt.Fprintf(&b, "- name: %s\n  version: %q\n  arch: %s\n  url: %q\n  sha256: %q\n",
			a.Name, a.Version, a.Arch, a.URL, a.SHA256)
		if a.Size > 0 {
			fmt.Fprintf(&b, "  size: %d\n", a.Size)
		}
	}
	return []byte(b.String())
}

// readLock reads the lock of a configuration; nil if there is none. The problems are those of the
// lock.
func readLock(config string, dir fs.FS) ([]target.Artifact, Problems) {
	if dir == nil {
		return nil, nil
	}
	full := LockPath(config)
	r := &reporter{file: full}
	info, err := fs.Stat(dir, path.Base(full))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = readFile(dir, path.Base(full), info)
	}
	if err != nil {
		r.add(0, 0, "", err.Error())
		return nil, r.problems()
	}
	return parseLock(data, r)
}

// parseLock turns the bytes of a lock into its artifacts, or into everything that is wrong with it.
func parseLock(data []byte, r *reporter) ([]target.Artifact, Problems) {
	root := readDocument(data, r)
	if root == nil {
		return nil, r.problems()
	}
	r.root = root
	var lock Lock
	at, _ := locations()
	d := decoder{reporter: r}
	if !isOurs(root, d, at, reflect.TypeFor[Lock]()) {
		return nil, r.problems()
	}
	d.value(root, reflect.ValueOf(&lock).Elem(), nil, at)
	out := make([]target.Artifact, 0, len(lock.Artifacts)) // an empty lock is a lock
	seen := map[string]int{}
	for i, a := range lock.Artifacts {
		here := at.Key("artifacts").Index(i)
		r.artifact(&a, here)
		id := fmt.Sprintf("%s %s for %s", a.Name, a.Version, a.Arch)
		if first, ok := seen[id]; ok {
			r.report(here, "%s is already artifacts[%d]; remove one", id, first)
			continue
		}
		seen[id] = i
		out = append(out, target.Artifact{
			Name: a.Name, Version: a.Version, Arch: a.Arch,
			URL: a.URL, SHA256: a.SHA256, Size: int64(a.Size),
		})
	}
	return out, r.problems()
}

var (
	// artifactVersion matches the version of an artifact.
	artifactVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([.+-][0-9A-Za-z.+-]*)?$`)
	sha256Text      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// artifact checks one entry of a lock.
func (r *reporter) artifact(a *LockedArtifact, at *yamlpath.Location) {
	if problem := artifactVersionProblem(a.Version); a.Version != "" && problem != "" {
		r.report(at.Key("version"), "%s", problem)
	}
	if a.URL != "" {
		if problem := artifactURLProblem(a.URL); problem != "" {
			r.report(at.Key("url"), "%s", problem)
		}
	}
	if a.SHA256 != "" && !sha256Text.MatchString(a.SHA256) {
		r.report(at.Key("sha256"), "%s is not a SHA-256; write its 64 hexadecimal digits, "+
			"in lower case", quote(a.SHA256))
	}
	if a.Size < 0 {
		r.report(at.Key("size"), "%d is negative; write the size in bytes", a.Size)
	}
}

// artifactVersionProblem returns why a string is not the version of an artifact, "" if it is one.
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
