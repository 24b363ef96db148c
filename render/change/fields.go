package change

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Field is one value that differs. Of a list that has no order each member that came or went is a field of its own.
type Field struct {
	Name string  `json:"name"` // a path of keys, a flag, a directive, a part of a certificate; empty for a line of a text
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// fields collects what differs between two things.
type fields []Field

func (f *fields) add(name string, old, new *string) { *f = append(*f, Field{name, old, new}) }

// value adds a value that is there on both sides, or on one: an empty one is not there.
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

// set adds the members that only one side has, in the order in which they stand there.
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

// differences compares two things at one place, by what they are.
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

// generationOf is a secret without the machine that holds it, so that equal changes on many machines look equal.
func generationOf(secret string) string {
	name, generation, ok := strings.Cut(secret, " ")
	if !ok {
		return secret
	}
	base, _, _ := strings.Cut(name, "/")
	return base + " " + generation
}

// Unknown is a secret of which a state has no name: documents do not carry them.
const Unknown = "unknown"

// bothKnown says that both states tell what a secret is, or that one has none: the generation of a CA may be missing in one.
func bothKnown(old, new string) bool {
	return old != Unknown && new != Unknown && (old == "" || new == "" || generation.MatchString(old) == generation.MatchString(new))
}

var generation = regexp.MustCompile(` g[0-9]+$`)

// ObjectsDir is where the objects lie that the API server is to hold. Their files are numbered in the order in which they are applied, so
// that a new one moves those behind it: the number is no part of what they are.
const ObjectsDir = "/etc/kiln/objects/"

var number = regexp.MustCompile(`^[0-9]{3}-`)

// place is what a thing is told by: objects without their numbers.
func (k Key) place() Key {
	if dir, name := path.Split(k.ID); k.Kind == "file" && dir == ObjectsDir {
		return Key{k.Kind, dir + number.ReplaceAllString(name, "")}
	}
	return k
}

// shown compares what stands in place of contents: certificates by their parts, other lines as they are.
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

// union has the keys of both.
func union[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, b)
	return out
}
