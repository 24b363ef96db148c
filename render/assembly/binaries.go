package assembly

import (
	"cmp"
	"fmt"
	"strings"

	"kiln/render/plan"
	"kiln/render/target"
	"kiln/templates"
)

// addBinaries adds the list of what the hook fetches, and what the fetched programs need: the
// container runtime's unit and the settings of crictl.
func (t *tree) addBinaries() error {
	if len(t.m.Artifacts) == 0 {
		return nil
	}
	var b strings.Builder
	for _, a := range t.m.Artifacts {
		p, _ := target.ProgramNamed(a.Name)
		fmt.Fprintln(&b, a.SHA256, a.Version, p.Path, cmp.Or(p.Folder, "-"),
			cmp.Or(t.Plan.ProxyFor(&t.m.Settings.Proxy, a.URL), "-"), a.URL)
	}
	from := t.m.Settings.Path("binaries")
	t.addDir(target.BinDir, 0o755, "")
	t.addDir(target.CNIBinDir, 0o755, "")
	t.addFile(plan.ArtifactList, 0o600, b.String(),
		"what the hook fetches: SHA-256, version, program, folder of an archive, proxy, URL",
		from, "kubernetesVersion", t.m.Settings.Path("kubeletVersion"),
		t.m.Settings.Path("proxy"))
	binaries := &t.m.Settings.Binaries
	if ca := t.TrustedCA(binaries.CA, binaries.CAFrom); len(ca) > 0 {
		t.addFile(plan.ArtifactCA, 0o600, string(ca), "the CA of the server with these files", from)
	}
	t.addUnitWith("containerd.service", 0o644, templates.Unit("containerd.service"), true, false,
		from)
	t.addFile(plan.CrictlConfig, 0o644, "runtime-endpoint: unix://"+plan.CRISocket+"\n",
		"where crictl finds the container runtime", from)
	return nil
}
