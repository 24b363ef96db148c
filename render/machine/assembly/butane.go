package assembly

import (
	"encoding/json"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
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
