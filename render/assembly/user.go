package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kiln/render/config"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/plan"
)

// user adds what the configuration asks for beside Kubernetes: files, units, scripts, a Butane snippet, the network
// configuration.
func (t *tree) user() error {
	s := &t.m.Settings
	files, units := s.Path("files"), s.Path("units")
	for i, f := range s.Files {
		mode, err := strconv.ParseUint(f.Mode, 8, 32)
		if err != nil {
			return fmt.Errorf("files[%d].mode: %w", i, err)
		}
		owner, group, _ := strings.Cut(f.Owner, ":")
		file := node.File{Path: f.Path, Mode: uint32(mode), User: owner, Group: group, Content: t.text(f.Content, f.ContentFrom), Why: node.FromConfig, From: []string{at(files, i)}}
		if f.Secret {
			file.Secret = "file " + f.Path
		}
		t.n.Files = append(t.n.Files, file)
	}
	for i, u := range s.Units {
		if text := t.text(u.Content, u.ContentFrom); len(text) > 0 {
			t.file(plan.UnitDir+"/"+u.Name, 0o644, string(text), node.FromConfig, at(units, i))
		}
		for j, d := range u.DropIns {
			t.file(plan.UnitDir+"/"+u.Name+".d/"+d.Name, 0o644, d.Content, node.FromConfig, at(at(units, i)+".dropIns", j))
		}
		if u.Enabled || u.Masked {
			t.n.Units = append(t.n.Units, node.Unit{Name: u.Name, Enabled: u.Enabled, Started: u.Enabled, Masked: u.Masked})
		}
	}
	t.scripts("pre-boot", s.PreBoot, s.Path("preBoot"))
	t.scripts("post-boot", s.PostBoot, s.Path("postBoot"))
	if len(s.NetworkConfig) > 0 {
		text, err := yaml.Marshal(s.NetworkConfig)
		if err != nil {
			return fmt.Errorf("networkConfig: %w", err)
		}
		t.n.NetworkConfig = text
	}
	if err := t.cloudConfig(s.CloudConfig); err != nil {
		return err
	}
	return t.butane(s.Butane)
}

// cloudConfig adds keys of cloud-init's user-data. What they mount may hide nothing: cloud-init has written the files by then.
func (t *tree) cloudConfig(keys map[string]any) error {
	if len(keys) == 0 {
		return nil
	}
	mounts, _ := keys["mounts"].([]any)
	for _, mount := range mounts {
		fields, _ := mount.([]any)
		if len(fields) < 2 {
			continue
		}
		folder, _ := fields[1].(string)
		for _, f := range t.n.Files {
			if path.IsAbs(folder) && strings.HasPrefix(f.Path, strings.TrimSuffix(path.Clean(folder), "/")+"/") {
				return fmt.Errorf("cloudConfig: mounts: what is mounted at %s hides %s, which cloud-init writes before; mount a folder in which the document writes nothing, such as /var/lib/etcd or /var/lib/containerd", folder, f.Path)
			}
		}
	}
	if users, ok := keys["users"].([]any); ok && len(t.n.AuthorizedKeys) == 0 {
		// One more user who has nothing but keys is said the way that kiln has for it.
		if name, authorized, ok := onlyLogin(users); ok {
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

// onlyLogin returns the name and keys of a user beside the default one who has nothing else.
func onlyLogin(users []any) (name string, authorized []string, ok bool) {
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

// at is the i-th element of a list in the configuration.
func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// scripts adds the user's scripts of one phase of the first boot, the list at path in the configuration. The hook gives them to sh, so none is a program.
func (t *tree) scripts(phase string, scripts []config.Script, path string) {
	for i, s := range scripts {
		file := node.File{Path: plan.KilnDir + "/" + phase + "/" + s.Name, Mode: 0o600, Content: t.text(s.Content, s.ContentFrom), Why: node.FromConfig, From: []string{at(path, i)}}
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

// butane adds the parts of a Butane snippet. Nothing in it may be ours already.
func (t *tree) butane(snippet string) error {
	if snippet == "" {
		return nil
	}
	extra, err := ignition.Translate(snippet)
	if err != nil {
		return fmt.Errorf("butane: %w", err)
	}
	taken := map[string]bool{}
	for _, f := range t.n.Files {
		taken[f.Path] = true
	}
	for _, d := range t.n.Dirs {
		taken[d.Path] = true
	}
	for _, l := range t.n.Links {
		taken[l.Path] = true
	}
	for _, path := range paths(&extra) {
		if taken[path] {
			return fmt.Errorf("butane: %s is written by kiln or by files already; change it there", path)
		}
		// What lies elsewhere may be on a disk that the snippet mounts.
		if os := &t.m.System; strings.HasPrefix(path, "/usr/") && !os.CanWrite(path) {
			return fmt.Errorf("butane: %s cannot be written on %s: the folder is read-only; put it below /etc, /opt or /var", path, os.Name)
		}
	}
	for _, f := range extra.Files {
		f.Why, f.From = node.FromConfig, []string{t.m.Settings.Path("butane")}
		t.n.Files = append(t.n.Files, f)
	}
	t.n.Dirs = append(t.n.Dirs, extra.Dirs...)
	t.n.Links = append(t.n.Links, extra.Links...)
	t.n.Units = append(t.n.Units, extra.Units...)
	t.n.Extra = extra.Extra
	return nil
}

func paths(n *node.Node) (out []string) {
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

// text returns the inline text, or that of the file it comes from.
func (t *tree) text(inline, from string) []byte {
	if from != "" {
		return t.Plan.Config.Text(from)
	}
	return []byte(inline)
}
