package assembly

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// addUser adds everything that the configuration asks for beside Kubernetes: files, units, scripts,
// the network configuration, keys of cloud-init and a Butane snippet. It fails with config.Problems
// where these contradict the rest of the machine.
func (t *tree) addUser() error {
	s := t.m.Settings
	if clashes := t.clashes(); len(clashes) > 0 {
		return clashes
	}
	if err := t.addUserFiles(s.Files, s.Path("files")); err != nil {
		return err
	}
	t.addUserUnits(s.Units, s.Path("units"))
	t.addRestarts()
	t.addScripts("pre-boot", s.PreBoot, s.Path("preBoot"))
	t.addScripts("post-boot", s.PostBoot, s.Path("postBoot"))
	if len(s.NetworkConfig) > 0 {
		var err error
		if t.n.NetworkConfig, err = yaml.Marshal(s.NetworkConfig); err != nil {
			return fmt.Errorf("networkConfig: %w", err)
		}
	}
	if err := t.addCloudConfig(s.CloudConfig); err != nil {
		return err
	}
	return t.addButane(s.Butane)
}

// addUserFiles adds the user's files. field is their list in the configuration.
func (t *tree) addUserFiles(files []config.File, field string) error {
	for i, f := range files {
		mode, err := strconv.ParseUint(f.Mode, 8, 32)
		if err != nil {
			return fmt.Errorf("%s.mode: %w", element(field, i), err)
		}
		owner, group, _ := strings.Cut(f.Owner, ":")
		file := node.File{
			Path: f.Path, Mode: uint32(mode), User: owner, Group: group,
			Content: t.fileContent(f),
			Why:     node.FromConfig, From: []string{element(field, i)},
		}
		if f.Secret {
			file.Secret = "file " + f.Path
		}
		t.n.Files = append(t.n.Files, file)
	}
	return nil
}

// addUserUnits adds the user's units and drop-ins. field is their list in the configuration.
func (t *tree) addUserUnits(units []config.Unit, field string) {
	for i, u := range units {
		unit := element(field, i)
		name := path.Join(plan.UnitDir, u.Name)
		if content := t.content(u.Content, u.ContentFrom); len(content) > 0 {
			t.addFile(name, 0o644, string(content), node.FromConfig, unit)
		}
		for j, d := range u.DropIns {
			t.addFile(path.Join(name+".d", d.Name), 0o644, d.Content, node.FromConfig,
				element(unit+".dropIns", j))
		}
		if u.Enabled || u.Masked {
			t.n.Units = append(t.n.Units, node.Unit{
				Name: u.Name, Enabled: u.Enabled, Started: u.Enabled, Masked: u.Masked,
			})
		}
	}
}

// addRestarts adds the list of the user's files, each with the units that kiln apply starts again
// after a change of it.
func (t *tree) addRestarts() {
	s := t.m.Settings
	var list strings.Builder
	add := func(path string, units []string) {
		if len(units) > 0 && t.n.File(path) != nil {
			fmt.Fprintln(&list, path, strings.Join(units, " "))
		}
	}
	for _, f := range s.Files {
		add(f.Path, f.Restart)
	}
	for _, u := range s.Units {
		name := path.Join(plan.UnitDir, u.Name)
		add(name, u.Restart)
		for _, d := range u.DropIns {
			add(path.Join(name+".d", d.Name), u.Restart)
		}
	}
	if list.Len() > 0 {
		t.addFile(plan.RestartList, 0o644, list.String(), "what kiln apply starts again",
			s.Path("files"), s.Path("units"))
	}
}

// clashes returns a problem for each file and unit of the user's that kiln has written or masked
// already. Package config cannot check this, because what a machine gets follows from many fields.
func (t *tree) clashes() (problems config.Problems) {
	check := func(name, field string) {
		if f := t.n.File(name); f != nil {
			problems = append(problems, t.Plan.Config.Problemf(field,
				"%s is written by kiln on %s (%s, from %s); remove it here, or change what it is "+
					"from", name, t.m.Name, f.Why, strings.Join(f.From, ", ")))
		}
	}
	s := t.m.Settings
	for i, f := range s.Files {
		check(f.Path, element(s.Path("files"), i))
	}
	for i, u := range s.Units {
		name, field := path.Join(plan.UnitDir, u.Name), element(s.Path("units"), i)
		own := slices.IndexFunc(t.n.Units, func(own node.Unit) bool { return own.Name == u.Name })
		if own >= 0 && t.n.Units[own].Masked {
			problems = append(problems, t.Plan.Config.Problemf(field,
				"%s never starts on %s, because kiln masks it; remove it here, or allow what it "+
					"does", u.Name, t.m.Name))
			continue
		}
		if u.Content != "" || u.ContentFrom != "" {
			check(name, field)
		}
		for j, d := range u.DropIns {
			check(path.Join(name+".d", d.Name), element(field+".dropIns", j))
		}
	}
	return problems
}

// addScripts adds the user's scripts of one phase of the first boot. field is their list in the
// configuration. The hook passes them to sh, so they are not executable.
func (t *tree) addScripts(phase string, scripts []config.Script, field string) {
	for i, s := range scripts {
		file := node.File{
			Path: path.Join(plan.KilnDir, phase, s.Name), Mode: 0o600,
			Content: t.content(s.Content, s.ContentFrom),
			Why:     node.FromConfig, From: []string{element(field, i)},
		}
		if s.Secret {
			file.Secret = "file " + file.Path
		}
		t.n.Files = append(t.n.Files, file)
	}
}

// userScripts returns the scripts that the hook runs before and after its other steps, in their
// order, each as NAME:SECONDS.
func (t *tree) userScripts() (pre, post []string) {
	for _, s := range t.m.Settings.PreBoot {
		pre = append(pre, s.Name+":"+seconds(time.Duration(s.Timeout)))
	}
	for _, s := range t.m.Settings.PostBoot {
		post = append(post, s.Name+":"+seconds(time.Duration(s.Timeout)))
	}
	return pre, post
}

// content returns the content that the configuration holds inline or names by a file.
func (r *Cluster) content(inline, from string) []byte {
	if from != "" {
		return r.Plan.Config.Text(from)
	}
	return []byte(inline)
}
