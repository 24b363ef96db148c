package change

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Field is one value that differs. Each added or removed member of a list without an order is a
// field of its own.
type Field struct {
	// a path of keys, a flag, a directive, a part of a certificate; empty for a line
	Name string  `json:"name"`
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// fields collects the fields in which two entries differ.
type fields []Field

func (f *fields) add(name string, old, new *string) { *f = append(*f, Field{name, old, new}) }

// value adds a value that differs. An empty value counts as absent.
func (f *fields) value(name, old, new string) {
	if old == new {
		return
	}
	f.add(name, optional(old), optional(new))
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// set adds the members that only one side has, in their order.
func (f *fields) set(name string, old, new []string) {
	count := map[string]int{}
	for _, s := range new {
		count[s]++
	}
	for _, s := range old {
		if count[s]--; count[s] < 0 {
			f.add(name, &s, nil)
		}
	}
	clear(count)
	for _, s := range old {
		count[s]++
	}
	for _, s := range new {
		if count[s]--; count[s] < 0 {
			f.add(name, nil, &s)
		}
	}
}

// differences returns the fields in which two entries of the same key differ.
func differences(k Key, old, new *Entry) []Field {
	var f fields
	for _, name := range slices.Sorted(maps.Keys(union(old.Traits, new.Traits))) {
		f.value(name, old.Traits[name], new.Traits[name])
	}
	if a, b := generationOf(old.Secret), generationOf(new.Secret); bothKnown(a, b) {
		f.value("secret", a, b)
	}
	f.shown(k, old.Shown, new.Shown)
	if old.Content != nil && new.Content != nil && !bytes.Equal(old.Content, new.Content) {
		f.content(k, old.Content, new.Content)
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

var generation = regexp.MustCompile(` g[0-9]+$`)

// ObjectsDir is the folder of the objects for the API server. The numbers of their files give the
// order in which they are applied, and a new object changes the numbers after it: the number is no
// part of an object's identity.
const ObjectsDir = "/etc/kiln/objects/"

var number = regexp.MustCompile(`^[0-9]{3}-`)

// place returns the key by which entries of two states are paired: objects have no number in it.
func (k Key) place() Key {
	if dir, name := path.Split(k.ID); k.Kind == "file" && dir == ObjectsDir {
		return Key{k.Kind, dir + number.ReplaceAllString(name, "")}
	}
	return k
}

// shown compares the lines in place of contents: certificates by their parts, other lines whole.
func (f *fields) shown(k Key, old, new []string) {
	oldCerts, oldRest := certificates(old)
	newCerts, newRest := certificates(new)
	for i := range max(len(oldCerts), len(newCerts)) {
		var a, b certificate
		if i < len(oldCerts) {
			a = oldCerts[i]
		}
		if i < len(newCerts) {
			b = newCerts[i]
		}
		f.certificate(a, b)
	}
	if k.ID == ObjectsDir+"index" {
		for _, list := range [][]string{oldRest, newRest} {
			for i := range list {
				list[i] = number.ReplaceAllString(list[i], "")
			}
		}
	}
	f.set("", oldRest, newRest)
}

// union returns a map with the keys of both.
func union[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, b)
	return out
}
