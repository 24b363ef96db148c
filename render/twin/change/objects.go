package change

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/manifests"
)

// ObjectsDir is the folder of the objects for the API server. The numbers of their files give the
// order in which they are applied, and a new object changes the numbers after it: the number is no
// part of an object's identity.
const ObjectsDir = "/etc/kiln/objects/"

// objectsIndex is the list of the objects' paths in the API.
const objectsIndex = ObjectsDir + "index"

var number = regexp.MustCompile(`^[0-9]{3,}-`)

// Object is an API object of a state.
type Object struct {
	*Entry        // its file
	Path   string // in the API; empty if the state does not say it
}

// Objects returns the API objects of a state by their identities. Control planes have the same
// ones, which are read once.
func (c *Cluster) Objects() map[string]Object {
	out := map[string]Object{}
	known := map[string]*Entry{} // by the file
	for _, m := range c.Machines {
		var paths map[string]string
		for _, e := range m.Entries {
			if e.Kind != "file" || !strings.HasPrefix(e.ID, ObjectsDir) || e.ID == objectsIndex {
				continue
			}
			if same := known[e.ID]; same != nil && same.sameContent(e) {
				continue
			}
			known[e.ID] = e
			if paths == nil {
				paths = m.objectPaths()
			}
			o := Object{e, paths[path.Base(e.ID)]}
			out[o.Identity()] = o
		}
	}
	return out
}

// objectPaths returns the paths of a machine's objects in the API, by the names of their files.
func (m *Machine) objectPaths() map[string]string {
	out := map[string]string{}
	if index := m.Entries.Find(Key{"file", objectsIndex}); index != nil {
		for _, line := range index.Shown {
			file, apiPath, _ := strings.Cut(line, " is ")
			out[file] = apiPath
		}
	}
	return out
}

// File returns the name of the object's file, with its number.
func (o Object) File() string { return path.Base(o.ID) }

// Name returns the name of the object's file without its number.
func (o Object) Name() string { return number.ReplaceAllString(o.File(), "") }

// Identity is equal for an object in two states: its path in the API without the version, or the
// name of its file if the state does not show the path.
func (o Object) Identity() string {
	group, rest := o.parts()
	if rest == "" || o.IsToken() {
		return o.Name()
	}
	return group + "/" + rest
}

// IsToken reports whether an object is the Secret of a bootstrap token.
func (o Object) IsToken() bool { return manifests.IsTokenPath(o.Path) }

// parts returns the group of the object's path, and what follows the version. They are empty if the
// path is not known.
func (o Object) parts() (group, rest string) {
	words := strings.SplitN(o.Path, "/", 5)
	switch {
	case strings.HasPrefix(o.Path, "/api/") && len(words) > 3:
		return "", strings.Join(words[3:], "/")
	case strings.HasPrefix(o.Path, "/apis/") && len(words) == 5:
		return words[2], words[4]
	}
	return "", ""
}

// word is a part of an object's path that no shell and no kubectl takes for something else.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._-]*$`)

// Words returns the object as kubectl names it: its namespace, empty for an object of the whole
// cluster, its resource, such as deployments.apps, and its name. It reports false if the path is
// not known, or has a part that a shell or kubectl could take for something else.
func (o Object) Words() (namespace, resource, name string, ok bool) {
	group, rest := o.parts()
	words := strings.Split(rest, "/")
	switch {
	case len(words) == 4 && words[0] == "namespaces":
		namespace, resource, name = words[1], words[2], words[3]
	case len(words) == 2:
		resource, name = words[0], words[1]
	default:
		return "", "", "", false
	}
	if group != "" {
		resource += "." + group
	}
	for _, w := range []string{cmp.Or(namespace, "x"), resource, name} {
		if !word.MatchString(w) {
			return "", "", "", false
		}
	}
	return namespace, resource, name, true
}

// Equal reports whether an object is the same in two states, as far as they show it.
func (o Object) Equal(other Object) bool {
	return o.sameContent(other.Entry) && (o.Secret == other.Secret ||
		o.Secret == Unknown || other.Secret == Unknown)
}

// Resealed returns the Secrets whose content alone differs from that in an older state, without
// bootstrap tokens. A marker says nothing of that: it is the same for both states.
func (c *Cluster) Resealed(older *Cluster) (list []Object) {
	was := older.Objects()
	for id, o := range c.Objects() {
		if before, there := was[id]; there && before.Seal.differs(o.Seal) && !o.IsToken() {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, Object.Before)
	return list
}

// Before orders objects as they are applied.
func (o Object) Before(other Object) int {
	order := func(o Object) int {
		digits, _, _ := strings.Cut(o.File(), "-")
		n, _ := strconv.Atoi(digits) // none is the first
		return n
	}
	return cmp.Or(order(o)-order(other), strings.Compare(o.File(), other.File()),
		strings.Compare(o.Identity(), other.Identity()))
}
