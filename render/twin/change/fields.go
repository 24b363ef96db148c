package change

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/machine/layout"
)

// differences returns the fields in which two entries of the same key differ.
func differences(k Key, old, new *Entry) []Field {
	var f List
	traits := slices.Concat(slices.Collect(maps.Keys(old.Traits)),
		slices.Collect(maps.Keys(new.Traits)))
	slices.Sort(traits)
	for _, name := range slices.Compact(traits) {
		f.Value(name, old.Traits[name], new.Traits[name])
	}
	if a, b := generationOf(old.Secret), generationOf(new.Secret); bothKnown(a, b) {
		f.Value("secret", a, b)
	}
	addShown(&f, k, old.Shown, new.Shown)
	if old.Content != nil && new.Content != nil && !bytes.Equal(old.Content, new.Content) {
		f.Content(form(k), old.Content, new.Content)
	}
	if resealed(old, new, len(f)) {
		f.Value("content", oldSecret, newSecret)
	}
	return f
}

// generationOf returns a secret's name and generation without the machine, so that equal changes on
// many machines look equal.
func generationOf(secret string) string {
	name, generation, ok := strings.Cut(secret, " ")
	if !ok {
		return secret
	}
	base, _, _ := strings.Cut(name, "/")
	return base + " " + generation
}

// Unknown is the secret of an entry in a state that was read from documents, which do not have
// names of secrets.
const Unknown = "unknown"

// bothKnown reports whether both states identify the secret. A missing CA generation on one side is
// no difference.
func bothKnown(old, new string) bool {
	return old != Unknown && new != Unknown &&
		(old == "" || new == "" || generation.MatchString(old) == generation.MatchString(new))
}

var generation = regexp.MustCompile(` g[0-9]+(\+g[0-9]+)?$`)

// place returns the key by which entries of two states are paired: objects have no number in it.
func (k Key) place() Key {
	if dir, name := path.Split(k.ID); k.Kind == "file" && dir == ObjectsDir {
		return Key{k.Kind, dir + number.ReplaceAllString(name, "")}
	}
	return k
}

// addShown compares the lines in place of contents: certificates by their parts, other lines whole.
func addShown(f *List, k Key, old, new []string) {
	oldCerts, oldRest := certificates(old)
	newCerts, newRest := certificates(new)
	for _, pair := range pairCertificates(oldCerts, newCerts) {
		addCertificate(f, pair[0], pair[1])
	}
	if k.ID == objectsIndex {
		for _, list := range [][]string{oldRest, newRest} {
			for i := range list {
				list[i] = number.ReplaceAllString(list[i], "")
			}
		}
	}
	f.Set("", oldRest, newRest)
}

// form returns the format of a file: of kiln's own files by the table, of others by the name.
func form(k Key) layout.Form {
	if k.Kind != "file" {
		return layout.YAML // network-config, and JSON is YAML
	}
	if file := layout.FileAt(k.ID); file != nil {
		return file.Form
	}
	switch dir := path.Dir(k.ID); path.Ext(k.ID) {
	case ".yaml", ".yml", ".json", ".conflist":
		return layout.YAML
	case ".service", ".timer", ".socket", ".mount", ".path", ".target", ".network", ".netdev",
		".link", ".slice", ".nmconnection":
		return layout.Unit
	case ".conf":
		switch {
		case dir == "/etc/kubernetes":
			return layout.YAML // kubeconfigs
		case strings.HasPrefix(dir, "/etc/systemd/"):
			return layout.Unit
		case dir == "/etc/sysctl.d":
			return layout.Settings
		}
	}
	return layout.Lines
}
