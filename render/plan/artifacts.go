package plan

import (
	"cmp"
	"fmt"
	"strings"

	"kiln/render/config"
	"kiln/render/target"
)

// Where the files are that concern what a machine fetches.
const (
	ArtifactList = KilnDir + "/artifacts"
	ArtifactCA   = KilnDir + "/artifacts.crt"
	CrictlConfig = "/etc/crictl.yaml"
	// CrictlText is the content of CrictlConfig.
	CrictlText = "runtime-endpoint: unix://" + CRISocket + "\n"
)

// artifacts returns what a machine with these settings fetches, from the mirror if it has one.
func artifacts(c *config.Cluster, settings *config.Effective) (out []target.Artifact) {
	if !settings.Binaries.Download() {
		return nil
	}
	versions := c.ArtifactVersions(&settings.Machine)
	for i := range target.Programs {
		name := target.Programs[i].Name
		// Parse accepts no configuration that names another one.
		a, _ := c.Artifact(name, versions[name], settings.Arch)
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
		fmt.Fprintln(&b, a.SHA256, a.Version, program.Path, cmp.Or(program.Folder, "-"),
			cmp.Or(p.ProxyFor(&m.Settings.Proxy, a.URL), "-"), a.URL)
	}
	return b.String()
}

// Kubelet returns the program of the machine's kubelet.
func (m *Machine) Kubelet() string {
	if len(m.Artifacts) == 0 {
		return m.Settings.KubeletPath
	}
	p, _ := target.ProgramNamed("kubelet")
	return p.Path
}
