package plan

import (
	"cmp"
	"fmt"
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

// mirroredArtifacts returns what a machine with these settings fetches, from the mirror if it has
// one.
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
