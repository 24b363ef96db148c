package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kiln/render/config"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/plan"
)

// addUser adds what the configuration asks for beside Kubernetes: files, units, scripts, a Butane snippet, the network
// configuration.
func (t *tree) addUser() error {
	s := &t.m.Settings
	files, units := s.Path("files"), s.Path("units")
	for i, f := range s.Files {
		mode, err := strconv.ParseUint(f.Mode, 8, 32)
		if err != nil {
			return fmt.Errorf("files[%d].mode: %w", i, err)
		}
		owner, group, _ := strings.Cut(f.Owner, ":")
		file := node.File{Path: f.Path, Mode: uint32(mode), User: owner, Group: group, Content: t.content(f.Content, f.ContentFrom), Why: node.FromConfig, From: []string{element(files, i)}}
		if f.Secret {
			file.Secret = "file " + f.Path
		}
		t.n.Files = append(t.n.Files, file)
	}
	for i, u := range s.Units {
		if text := t.content(u.Content, u.ContentFrom); len(text) > 0 {
			t.addFile(plan.UnitDir+"/"+u.Name, 0o644, string(text), node.FromConfig, element(units, i))
		}
		for j, d := range u.DropIns {
			t.addFile(plan.UnitDir+"/"+u.Name+".d/"+d.Name, 0o644, d.Content, node.FromConfig, element(element(units, i)+".dropIns", j))
		}
		if u.Enabled || u.Masked {
			t.n.Units = append(t.n.Units, node.Unit{Name: u.Name, Enabled: u.Enabled, Started: u.Enabled, Masked: u.Masked})
		}
	}
	t.addScripts("pre-boot", s.PreBoot, s.Path("preBoot"))
	t.addScripts("post-boot", s.PostBoot, s.Path("postBoot"))
	if len(s.NetworkConfig) > 0 {
		text, err := yaml.Marshal(s.NetworkConfig)
		if err != nil {
			return fmt.Errorf("networkConfig: %w", err)
		}
		t.n.NetworkConfig = text
	}
	if err := t.addCloudConfig(s.CloudConfig); err != nil {
		return err
	}
	return t.addButane(s.Butane)
}

// addCloudConfig adds keys of cloud-init's user-data. It fails with config.Problems if a mount hides a
// file of the document.
func (t *tree) addCloudConfig(keys map[string]any) error {
	if len(keys) == 0 {
		return nil
	}
	if problems := t.hiddenByMounts(keys); len(problems) > 0 {
		return problems
	}
	if users, ok := keys["users"].([]any); ok && len(t.n.AuthorizedKeys) == 0 {
		// One more user who has nothing but keys is said the way that kiln has for it.
		if name, authorized, ok := singleLogin(users); ok {
			keys = maps.Clone(keys)
			delete(keys, "users")
			t.n.Login, t.n.AuthorizedKeys = name, authorized
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var err error
	t.n.CloudConfig, err = json.Marshal(keys)
	return err
}

// hiddenByMounts returns a problem for each mount that hides a file of the document: cloud-init
// writes the files before it mounts.
func (t *tree) hiddenByMounts(keys map[string]any) (problems config.Problems) {
	field := t.m.Settings.Source["cloudConfig.mounts"] + ".cloudConfig.mounts"
	mounts, _ := keys["mounts"].([]any)
	for i, mount := range mounts {
		columns, _ := mount.([]any)
		if len(columns) < 2 {
			continue
		}
		folder, _ := columns[1].(string)
		if !path.IsAbs(folder) {
			continue
		}
		below := strings.TrimSuffix(path.Clean(folder), "/") + "/"
		hidden := slices.IndexFunc(t.n.Files, func(f node.File) bool {
			return strings.HasPrefix(f.Path, below)
		})
		if hidden >= 0 {
			problems = append(problems, t.Plan.Config.Problemf(element(field, i),
				"hides %s, which cloud-init writes before it mounts %s; mount a folder in which the document "+
					"writes nothing, such as /var/lib/etcd or /var/lib/containerd",
				t.n.Files[hidden].Path, folder))
		}
	}
	return problems
}

// singleLogin returns the name and keys of a user beside the default one who has nothing else.
func singleLogin(users []any) (name string, authorized []string, ok bool) {
	if len(users) != 2 || users[0] != "default" {
		return "", nil, false
	}
	fields, _ := users[1].(map[string]any)
	name, named := fields["name"].(string)
	list, _ := fields["ssh_authorized_keys"].([]any)
	for _, key := range list {
		text, _ := key.(string)
		authorized = append(authorized, text)
	}
	return name, authorized, named && len(fields) == 2 && len(list) > 0
}

// element is the i-th element of a list in the configuration.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// addScripts adds the user's scripts of one phase of the first boot, the list at path in the configuration. The hook gives them to sh, so none is a program.
func (t *tree) addScripts(phase string, scripts []config.Script, path string) {
	for i, s := range scripts {
		file := node.File{Path: plan.KilnDir + "/" + phase + "/" + s.Name, Mode: 0o600, Content: t.content(s.Content, s.ContentFrom), Why: node.FromConfig, From: []string{element(path, i)}}
		if s.Secret {
			file.Secret = "file " + file.Path
		}
		t.n.Files = append(t.n.Files, file)
	}
}

// userHooks are the scripts that the hook runs first and last, in their order, each as name:seconds.
func (t *tree) userHooks() (pre, post []string) {
	for _, s := range t.m.Settings.PreBoot {
		pre = append(pre, s.Name+":"+seconds(time.Duration(s.Timeout)))
	}
	for _, s := range t.m.Settings.PostBoot {
		post = append(post, s.Name+":"+seconds(time.Duration(s.Timeout)))
	}
	return pre, post
}

// addButane adds the parts of a Butane snippet. It fails with config.Problems if Butane refuses the
// snippet, if kiln or another field writes one of its paths already, and if one of its paths cannot
// be written on the machine's system.
func (t *tree) addButane(snippet string) error {
	if snippet == "" {
		return nil
	}
	field := t.m.Settings.Path("butane")
	extra, err := ignition.Translate(snippet)
	if err != nil {
		var problems config.Problems
		for _, err := range unjoin(err) {
			problems = append(problems, t.Plan.Config.Problemf(field, "%s", err))
		}
		return problems
	}
	if problems := t.unwritable(field, writtenPaths(&extra)); len(problems) > 0 {
		return problems
	}
	for _, f := range extra.Files {
		f.Why, f.From = node.FromConfig, []string{field}
		t.n.Files = append(t.n.Files, f)
	}
	t.n.Dirs = append(t.n.Dirs, extra.Dirs...)
	t.n.Links = append(t.n.Links, extra.Links...)
	t.n.Units = append(t.n.Units, extra.Units...)
	t.n.Extra = extra.Extra
	return nil
}

// unwritable returns a problem for each path of a Butane snippet that cannot be written: another
// source writes it, or it lies in a folder that is read-only on the machine's system.
func (t *tree) unwritable(field string, wanted []string) (problems config.Problems) {
	sources := map[string]string{} // by path
	for _, path := range writtenPaths(t.n) {
		sources[path] = "kiln"
	}
	for _, f := range t.n.Files {
		if f.Why == node.FromConfig {
			sources[f.Path] = f.From[0]
		}
	}
	system := t.m.System.Name
	for _, path := range wanted {
		source, taken := sources[path]
		switch {
		case taken && source == "kiln":
			problems = append(problems, t.Plan.Config.Problemf(field,
				"writes %s, which kiln writes already; remove it from the snippet", path))
		case taken:
			problems = append(problems, t.Plan.Config.Problemf(field,
				"writes %s, which %s writes already; remove one of the two", path, source))
		// Folders outside /usr are not judged: they may be on a disk that the snippet mounts.
		case strings.HasPrefix(path, "/usr/") && !t.m.System.CanWrite(path):
			problems = append(problems, t.Plan.Config.Problemf(field,
				"writes %s, which is in a read-only folder on %s; put it below /etc, /opt or /var", path, system))
		}
	}
	return problems
}

func writtenPaths(n *node.Node) (out []string) {
	for _, f := range n.Files {
		out = append(out, f.Path)
	}
	for _, d := range n.Dirs {
		out = append(out, d.Path)
	}
	for _, l := range n.Links {
		out = append(out, l.Path)
	}
	return out
}

// content returns the inline text, or that of the file it comes from.
func (t *tree) content(inline, from string) []byte {
	if from != "" {
		return t.Plan.Config.Text(from)
	}
	return []byte(inline)
}
