package assembly

import (
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/system"
	"kiln/render/target"
	"kiln/templates"
)

// addBinaries adds the list of what the hook fetches, and what the fetched programs need; or what
// installs packages.
func (t *tree) addBinaries() error {
	b, from := &t.m.Settings.Binaries, t.m.Settings.Path("binaries")
	unit, files := system.Packages(t.m, t.Plan.ProxyVariables(&t.m.Settings.Proxy),
		t.Plan.Config.Text(b.KeyFrom))
	if unit != "" {
		t.addUnitWith(target.PackagesUnit, 0o644, unit, false, false, from, "kubernetesVersion",
			t.m.Settings.Path("kubeletVersion"), t.m.Settings.Path("proxy"))
	}
	for _, f := range files {
		f.From = append(f.From, from, "kubernetesVersion", t.m.Settings.Path("kubeletVersion"))
		t.n.Files = append(t.n.Files, f)
	}
	if len(t.m.Artifacts) == 0 {
		return nil
	}
	t.addDir(target.BinDir, 0o755, "")
	t.addDir(target.CNIBinDir, 0o755, "")
	t.addFile(plan.ArtifactList, 0o644, t.Plan.ArtifactLines(t.m), "what the hook fetches", from,
		"kubernetesVersion", t.m.Settings.Path("kubeletVersion"), t.m.Settings.Path("proxy"))
	if ca := t.Public.TrustedCA(b.CA, t.Plan.Config.Text(b.CAFrom)); len(ca) > 0 {
		t.addFile(plan.ArtifactCA, 0o644, string(ca), "the CA of the server with these files", from)
	}
	if t.m.FetchesContainerd() {
		const unit = "containerd.service"
		t.addUnitWith(unit, 0o644, templates.Unit(unit), true, false, from)
	} else {
		// The extension is merged at every boot, and never replaced by a newer one.
		t.addDir(target.ExtensionDir, 0o755, "")
		const unit = "systemd-sysext.service"
		t.n.Links = append(t.n.Links, node.Link{
			Path:   plan.UnitDir + "/sysinit.target.wants/" + unit,
			Target: "/usr/lib/systemd/system/" + unit,
		})
		t.n.Units = append(t.n.Units, node.Unit{Name: "systemd-sysupdate.timer", Masked: true})
	}
	t.addFile(plan.CrictlConfig, 0o644, plan.CrictlText, "where crictl finds containerd", from)
	return nil
}
