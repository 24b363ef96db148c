package assembly

import (
	"slices"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// addBinaries adds what brings the programs of a machine whose image does not have them.
func (t *tree) addBinaries() error {
	from := t.m.Settings.Path("binaries")
	switch {
	case t.m.Packaged():
		t.addPackages(from)
	case t.m.Downloads():
		t.addArtifacts(from)
		const unit = "containerd.service"
		t.addUnitWith(unit, 0o644, templates.Unit(unit), true, false, from)
	case t.m.Extended():
		t.addArtifacts(from)
		// The extension is merged at every boot, and never replaced by a newer one. The hook makes
		// its folder, which costs no byte of a lean document.
		const unit = "systemd-sysext.service"
		t.n.Links = append(t.n.Links, node.Link{
			Path:   plan.UnitDir + "/sysinit.target.wants/" + unit,
			Target: "/usr/lib/systemd/system/" + unit,
		})
		t.n.Units = append(t.n.Units, node.Unit{Name: "systemd-sysupdate.timer", Masked: true})
	}
	return nil
}

// addArtifacts adds the list of what the hook fetches, and what it needs for that. from is the
// field that says so.
func (t *tree) addArtifacts(from string) {
	b := &t.m.Settings.Binaries
	t.addDir(target.BinDir, 0o755, "")
	t.addDir(target.CNIBinDir, 0o755, "")
	t.addFile(plan.ArtifactList, 0o644, t.Plan.ArtifactLines(t.m), "what the hook fetches", from,
		"kubernetesVersion", t.m.Settings.Path("kubeletVersion"), t.m.Settings.Path("proxy"))
	if ca := t.Public.TrustedCA(b.CA, t.Plan.Config.Text(b.CAFrom)); len(ca) > 0 {
		t.addFile(plan.ArtifactCA, 0o644, string(ca), "the CA of the server with these files", from)
	}
	t.addFile(plan.CrictlConfig, 0o644, plan.CrictlText, "where crictl finds containerd", from)
}

// addPackages adds the unit that installs packages, and its files. from is the field that says so.
func (t *tree) addPackages(from string) {
	unit, files := Packages(t.m, t.Plan.ProxyVariables(&t.m.Settings.Proxy),
		t.Plan.Config.Text(t.m.Settings.Binaries.KeyFrom))
	version := []string{from, "kubernetesVersion", t.m.Settings.Path("kubeletVersion")}
	for _, f := range files {
		f.From = version
		t.n.Files = append(t.n.Files, f)
	}
	t.addUnitWith(target.PackagesUnit, 0o644, unit, false, false,
		slices.Concat(version, []string{t.m.Settings.Path("proxy")})...)
}
