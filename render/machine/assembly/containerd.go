package assembly

import (
	"path"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/containerd"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/templates"
)

// addContainerd adds the container runtime's configuration: the registries' mirrors, the proxy and
// limits beside its main file.
func (t *tree) addContainerd() {
	from := []string{"images." + target.Pause, "imageRepository"}
	if t.m.Settings.Profile.CNIFolder != "" {
		from = append(from, t.m.Settings.Path("profile"))
	}
	t.addFile(plan.ContainerdConfig, 0o644, containerd.Config(containerd.Settings{
		SandboxImage: t.Plan.Images[target.Pause],
		CNIBinDir:    t.m.Settings.CNIBinDir(), CNIConfDir: plan.CNIConfDir,
		RegistriesDir: plan.RegistriesDir,
	}), "the container runtime's configuration", from...)
	t.addRegistries()
	if t.m.System.ContainerdEnv && !t.m.Downloads() {
		const dropIn = "containerd.service.d/10-kiln.conf"
		t.addFile(plan.UnitDir+"/"+dropIn, 0o644, templates.Unit(dropIn),
			"points containerd at its configuration")
	}
	if variables := t.Plan.ProxyVariables(&t.m.Settings.Proxy); len(variables) > 0 {
		dropIn := "[Service]\n"
		for _, v := range variables {
			dropIn += "Environment=" + v.Name + "=" + v.Value + "\n"
		}
		t.addFile(plan.UnitDir+"/containerd.service.d/20-proxy.conf", 0o644, dropIn,
			"the proxy through which containerd pulls images", t.m.Settings.Path("proxy"))
	}
	if limits := t.m.Settings.Limits; limits != (config.Limits{}) {
		dropIn := "[Service]\n"
		for _, limit := range [][2]string{
			{"LimitNOFILE", limits.NoFile}, {"LimitMEMLOCK", limits.MemLock},
		} {
			if limit[1] != "" {
				dropIn += limit[0] + "=" + limit[1] + "\n"
			}
		}
		t.addFile(plan.UnitDir+"/containerd.service.d/25-limits.conf", 0o644, dropIn,
			"limits that containers inherit from containerd", t.m.Settings.Path("limits"))
	}
}

// mergeContainerd merges the user's files for containerd into its configuration.
func (t *tree) mergeContainerd() error {
	own := t.n.File(plan.ContainerdConfig)
	var last *node.File
	for i := range t.n.Files {
		f := &t.n.Files[i]
		if own == nil || f.Why != node.FromConfig || !containerd.Merged(f.Path) {
			continue
		}
		c := t.Plan.Config
		if f.Secret != "" {
			return config.Problems{c.Problemf(f.From[0], "%s: is merged into %s, which reviewers "+
				"see, so that nothing in it stays secret; %s; without a password in it, leave "+
				"secret out", f.Path, plan.ContainerdConfig, containerd.PasswordPlace)}
		}
		text, err := containerd.Merge(string(own.Content), string(f.Content))
		if err != nil {
			return config.Problems{c.Problemf(f.From[0], "%s: %s", f.Path, err)}
		}
		own.Content, own.From = []byte(text), append(own.From, f.From...)
		last = f
	}
	if last != nil {
		if err := containerd.Refused(string(own.Content)); err != nil {
			return t.problems(last, err)
		}
	}
	if err := t.checkLogins(); err != nil {
		return err
	}
	return t.checkHosts()
}

// checkHosts checks the user's own files hosts.toml.
func (t *tree) checkHosts() error {
	for i := range t.n.Files {
		f := &t.n.Files[i]
		if f.Why != node.FromConfig || path.Base(f.Path) != "hosts.toml" ||
			path.Dir(path.Dir(f.Path)) != plan.RegistriesDir {
			continue
		}
		if err := containerd.RefusedHosts(f.Content); err != nil {
			return t.problems(f, err)
		}
	}
	return nil
}

// problems returns errors as problems of a file of the user's.
func (t *tree) problems(f *node.File, err error) (problems config.Problems) {
	if f.Secret != "" {
		return config.Problems{t.Plan.Config.Problemf(f.From[0], "%s: containerd would drop it or "+
			"a part of it; kiln shows nothing of a secret: validate it once with example values, "+
			"without secret and in another folder", f.Path)}
	}
	for _, err := range wording.SplitErrors(err) {
		problems = append(problems, t.Plan.Config.Problemf(f.From[0], "%s: %s", f.Path, err))
	}
	return problems
}
