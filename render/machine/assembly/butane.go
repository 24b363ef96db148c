package assembly

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// addButane adds the parts of a Butane snippet. It fails with config.Problems if Butane refuses the
// snippet, if kiln or another field writes one of its paths already, and if one of its paths cannot
// be written on the machine's system.
func (t *tree) addButane(snippet string) error {
	if snippet == "" {
		return nil
	}
	field := t.m.Settings.Path("butane")
	extra, err := t.later.Translate(snippet)
	if err != nil {
		var problems config.Problems
		for _, err := range wording.SplitErrors(err) {
			problems = append(problems, t.Plan.Config.Problemf(field, "%s", err))
		}
		return problems
	}
	problems := t.unwritable(field, writtenPaths(&extra))
	if problems = append(problems, t.refused(field, &extra)...); len(problems) > 0 {
		return problems
	}
	for _, u := range extra.Units {
		if u.Masked && t.n.File(plan.UnitDir+"/"+u.Name) != nil {
			return config.Problems{t.Plan.Config.Problemf(field, "masks %s, which is kiln's; "+
				"remove it from the snippet", u.Name)}
		}
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
				"writes %s, which is in a read-only folder on %s; put it below /etc, /opt or /var",
				path, system))
		}
	}
	return problems
}

// writtenPaths returns the paths of all files, folders and links of a machine.
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
	// What a node cannot express, such as a file without contents, stays in Ignition's own form.
	var own struct {
		Storage struct{ Files, Directories, Links []struct{ Path string } }
	}
	if json.Unmarshal(n.Extra, &own) == nil {
		s := &own.Storage
		for _, entry := range slices.Concat(s.Files, s.Directories, s.Links) {
			out = append(out, entry.Path)
		}
	}
	return out
}

// ignition is what the rules of snippets read of a part of an Ignition config.
type ignition struct {
	Ignition struct {
		Config struct {
			Merge   []remote
			Replace remote
		}
		Security struct {
			TLS struct{ CertificateAuthorities []remote }
		}
	}
	KernelArguments struct{ ShouldExist []string }
	Passwd          struct {
		Users  []struct{ Name, PasswordHash string }
		Groups []struct{ Name, PasswordHash string }
	}
	Storage struct {
		Disks []struct {
			Device     string
			WipeTable  bool
			Partitions []struct {
				Label       string
				Number      int
				ShouldExist *bool
			}
		}
		Files []struct {
			Path     string
			Contents remote
			Append   []remote
		}
		Filesystems []struct{ Device, Path, Label string }
		Luks        []struct {
			Name    string
			KeyFile remote
		}
	}
}

// remote is a thing that Ignition fetches.
type remote struct {
	Source       string
	Verification struct{ Hash string }
}

// imageLabels are those of partitions and file systems that the images of Flatcar and Fedora CoreOS
// have, and which these systems mount themselves.
var imageLabels = []string{
	"boot", "root", "EFI-SYSTEM", "OEM", "ROOT", "USR-A", "USR-B", "BIOS-BOOT",
}

// refused returns a problem for each thing that Butane takes and a machine of kiln's cannot have:
// the rules of files, cloudConfig and the machine's programs hold for snippets too.
func (t *tree) refused(field string, extra *node.Node) (problems config.Problems) {
	report := func(format string, args ...any) {
		problems = append(problems, t.Plan.Config.Problemf(field, format, args...))
	}
	var c ignition
	if json.Unmarshal(extra.Extra, &c) != nil {
		return nil
	}
	etcd := false
	for _, u := range slices.Concat(c.Passwd.Users, c.Passwd.Groups) {
		if u.PasswordHash != "" {
			report("passwd: %s has a password, and everybody may read cluster.yaml; leave "+
				"password_hash out, and let the user log in with ssh_authorized_keys", u.Name)
		}
		if u.Name == plan.EtcdUser && !etcd {
			etcd = true
			report("passwd: the user and the group %s are kiln's or the image's, and Ignition "+
				"fails on a second one; remove them, or write profile.etcdUser", u.Name)
		}
	}
	for _, argument := range c.KernelArguments.ShouldExist {
		if problem := target.RefusedArgument(argument); problem != "" {
			report("kernel_arguments: %s", problem)
		}
	}
	made := map[string][]string{} // labels by the folder in which they are
	for _, d := range c.Storage.Disks {
		for _, p := range d.Partitions {
			made["/dev/disk/by-partlabel/"] = append(made["/dev/disk/by-partlabel/"], p.Label)
			if p.Number == 0 && !d.WipeTable && (p.ShouldExist == nil || *p.ShouldExist) {
				report("storage: partition %q of %s has no number: with the next installation "+
					"Ignition would make another one, and not find this; write number: 1, and so "+
					"on",
					p.Label, d.Device)
			}
		}
	}
	for _, f := range c.Storage.Filesystems {
		made["/dev/disk/by-label/"] = append(made["/dev/disk/by-label/"], f.Label)
	}
	for _, f := range c.Storage.Filesystems {
		mounts := func(u node.File) bool {
			return path.Ext(u.Path) == ".mount" &&
				bytes.Contains(u.Content, []byte("Where="+f.Path))
		}
		folder, label := path.Split(f.Device)
		near := wording.Nearest(label, made[folder])
		ofImage := slices.Contains(imageLabels, label)
		if near != "" && near != label && !ofImage &&
			!bytes.Contains(extra.Extra, []byte(folder+near+`"`)) {
			report("storage: nothing in this snippet makes %s, and Ignition waits for it in vain; "+
				"it makes %s%s", f.Device, folder, near)
		}
		if f.Path != "" && !ofImage && !slices.ContainsFunc(extra.Files, mounts) {
			report("storage: %s is mounted at %s while Ignition runs, and never again; write "+
				"with_mount_unit: true", f.Device, f.Path)
		}
	}
	own := &c.Ignition
	fetched := slices.Concat(own.Config.Merge, own.Security.TLS.CertificateAuthorities)
	fetched = append(fetched, own.Config.Replace)
	for _, f := range c.Storage.Files {
		fetched = append(append(fetched, f.Contents), f.Append...)
	}
	for _, l := range c.Storage.Luks {
		fetched = append(fetched, l.KeyFile)
	}
	for _, r := range fetched {
		if r.Source != "" && !strings.HasPrefix(r.Source, "data:") && r.Verification.Hash == "" {
			report("%s is fetched without a hash, so that its server decides what the machine "+
				"runs; write verification: {hash: sha512-…}, or put the content into the snippet",
				r.Source)
		}
	}
	return problems
}
