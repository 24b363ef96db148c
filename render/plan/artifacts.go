package plan

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// RestartList has a line for each of the user's files whose change starts units again: its path and
// their names.
const RestartList = KilnDir + "/restarts"

// Where the files are that concern what a machine fetches.
const (
	ArtifactList = KilnDir + "/artifacts"
	ArtifactCA   = KilnDir + "/artifacts.crt"
	CrictlConfig = "/etc/crictl.yaml"
	// CrictlText is the content of CrictlConfig.
	CrictlText = "runtime-endpoint: unix://" + CRISocket + "\n"
)

// mirroredArtifacts returns what a machine fetches, from the mirror if it has one.
func mirroredArtifacts(c *config.Cluster, settings *config.Effective) (out []target.Artifact) {
	for _, a := range c.MachineArtifacts(&settings.Machine) {
		// It is there: Parse refuses a configuration with a file of unknown content.
		a, _ = c.FindArtifact(a.Name, a.Version, a.Arch)
		a.URL = target.Mirrored(a.URL, settings.Binaries.Mirror)
		out = append(out, a)
	}
	return out
}

// ArtifactLines returns the list of what m fetches, as the hook reads it (package templates).
func (p *Plan) ArtifactLines(m *Machine) string {
	var b strings.Builder
	for _, a := range m.Artifacts {
		program, _ := target.ProgramNamed(a.Name)
		version := a.Version
		if program.System != "" {
			version = "-" // an image cannot be asked for it
		}
		fmt.Fprintln(&b, a.SHA256, version, program.At(program.Path, a.Version, a.Arch),
			cmp.Or(program.Folder, "-"), cmp.Or(p.ProxyFor(&m.Settings.Proxy, a.URL), "-"), a.URL)
	}
	return b.String()
}

// Kubelet returns the program of the machine's kubelet.
func (m *Machine) Kubelet() string {
	switch m.Settings.Binaries.Source {
	case target.SourceDownload:
		p, _ := target.ProgramNamed("kubelet")
		return p.Path
	case target.SourceSysext, target.SourcePackages:
		return target.SystemKubelet
	default:
		return m.Settings.KubeletPath
	}
}

// Downloads reports whether the machine fetches its programs as files, containerd among them.
func (m *Machine) Downloads() bool { return m.Settings.Binaries.Source == target.SourceDownload }

// Extended reports whether a system extension has the machine's kubelet.
func (m *Machine) Extended() bool { return m.Settings.Binaries.Source == target.SourceSysext }

// Packaged reports whether the machine's packages have its programs.
func (m *Machine) Packaged() bool { return m.Settings.Binaries.Source == target.SourcePackages }

func images(
	repository, version string, r target.Release, overrides map[string]string,
) map[string]string {
	refs := map[string]string{}
	for i := range target.Components {
		c := &target.Components[i]
		refs[c.Name] = c.Reference(repository, version, r)
	}
	maps.Copy(refs, overrides)
	return refs
}

// pinnedImages returns the references with the digests of the lock. What the lock does not have
// stays; package assembly refuses it. The sandbox image loses its tag: with tag and digest
// containerd 2.3.0 to 2.3.3 starts no pod (https://github.com/containerd/containerd/issues/13529).
func pinnedImages(c *config.Cluster, images map[string]string) map[string]string {
	if !c.PinsImages() {
		return images
	}
	pinned := map[string]string{}
	for component, image := range images {
		pinned[component], _ = c.Pinned(image)
	}
	if name, digest := target.SplitDigest(pinned[target.Pause]); digest != "" {
		pinned[target.Pause] = target.WithoutTag(name) + "@" + digest
	}
	return pinned
}

// ByLock is the origin of the digests of images.
func (p *Plan) ByLock() Origin {
	lock, _ := p.Config.LockName()
	return Origin{By: lock}
}

// ImageStep is an image reference as one origin leaves it.
type ImageStep struct {
	From Origin
	Ref  string
}

// ImageSteps returns the references of a component's image in the steps that change it; the last
// one is the one in Images.
func (p *Plan) ImageSteps(name string) []ImageStep {
	from := Origin{Field: "kubernetesVersion"}
	switch name {
	case target.Etcd, target.CoreDNS, target.Pause:
		from = p.ByRelease()
	case target.KubeVIP, target.HAProxy, target.Flannel, target.FlannelPlugin:
		from = Kiln
	}
	origins := []Origin{from, {Field: "imageRepository"}, {Field: "images." + name}, p.ByLock()}
	var steps []ImageStep
	for i, refs := range p.imageSteps {
		if ref := refs[name]; i == 0 || ref != steps[len(steps)-1].Ref {
			steps = append(steps, ImageStep{origins[i], ref})
		}
	}
	return steps
}

// UsedImages returns the references of the images that this cluster's machines run, by component.
func (p *Plan) UsedImages() map[string]string {
	used := maps.Clone(p.Images)
	if len(p.EtcdMembers) == 0 {
		delete(used, target.Etcd)
	}
	if p.Config.Spec.Network.Proxy == "none" {
		delete(used, target.KubeProxy)
	}
	if p.Config.Spec.DNS.Provider == "none" {
		delete(used, target.CoreDNS)
	}
	if !p.VIP.IsValid() {
		delete(used, target.KubeVIP)
	}
	if p.BalancerPort == 0 {
		delete(used, target.HAProxy)
	}
	if !p.Flannel() {
		delete(used, target.Flannel)
		delete(used, target.FlannelPlugin)
	}
	return used
}
