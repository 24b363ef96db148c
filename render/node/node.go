// Package node describes what one machine receives: its files, directories, links, users and units, in no packing
// format. Everything before it knows Kubernetes and nothing of Ignition or cloud-init; everything after it the reverse.
package node

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Roles of a machine.
const (
	ControlPlane = "control-plane"
	Worker       = "worker"
	Etcd         = "etcd" // a member of etcd and nothing else
)

// Verified is the file that a machine has from the moment when everything in its document has been found on disk as it
// was rendered. Until then, whatever interrupted the first boot, the document may be written once more.
const Verified = "/var/lib/kiln/state"

// Root is the owner of everything whose owner is not said.
const Root = "root"

// FromConfig is why a file is there that the user gave, not kiln.
const FromConfig = "from cluster.yaml"

// Node is one machine, or one pool of machines that boot from the same document.
// Files, Dirs, Links and Users are sorted by path or name, Units by name; Sort does that.
type Node struct {
	Name string // the machine's or pool's name
	Role string // ControlPlane, Worker or Etcd

	Users []User // system users that own some of the files
	Dirs  []Dir  // directories whose mode or owner matters; other parents are made 0755 root
	Files []File
	Links []Link
	Units []Unit

	// Login is the user who receives AuthorizedKeys; empty means the image's default user ("core" on Ignition systems).
	Login          string
	AuthorizedKeys []string

	// NetworkConfig is cloud-init's network-config as YAML, delivered beside the user-data. Ignition has no counterpart.
	NetworkConfig []byte

	// Remote is the rest of the machine, which it fetches itself; nil if all of it is here.
	Remote *Remote

	// Extra is what only Ignition can express (disks, file systems, kernel arguments, …) as an Ignition config in JSON,
	// without the files, directories, links and units that stand above. Only machines with Ignition have one.
	Extra json.RawMessage

	// CloudConfig is what only cloud-init can express (disks, file systems, users who log in) as a mapping of keys of its user-data in
	// JSON, sorted, without what stands above. Only machines with cloud-init have one.
	CloudConfig json.RawMessage
}

// Remote is where a machine fetches what is not in its document: the body, another document of the same format.
type Remote struct {
	URL    string // https, or http
	SHA512 string // of the body, in hex; the machine acts on nothing that has another
	// Bytes is how long the body is, which bounds what the machine downloads. Ignition's documents
	// do not have it: Ignition knows no such bound.
	Bytes int
	CA    []byte // certificates in PEM of who may have signed the server's; empty for those whom the system trusts
	// Whole says that the document has nothing but the way to the body.
	Whole bool
	// Named says that the body gives the host its name, which cloud-init then leaves alone. Ignition never sets one.
	Named bool
}

// File is a regular file.
type File struct {
	Path    string // absolute and clean
	Mode    uint32 // permission bits, at most 0o777
	User    string // a name, or a number without zeros in front; empty means Root
	Group   string // the same
	Content []byte

	Secret string   // what the secret is and its generation ("kubelet-client/worker-1 g1"); empty for a file that is not secret
	Why    string   // one line for people: what the file is for
	From   []string // the fields of the configuration that it is made from, as far as that is certain

	// Shown is what a reviewer sees in place of the content, a line for each thing in it: what certificates say, what is known of a
	// secret. Nothing in it may be computed from a secret. Empty means the content itself, or nothing if the file is a secret.
	Shown []string
}

// Dir is a directory whose mode or owner matters.
type Dir struct {
	Path  string
	Mode  uint32
	User  string
	Group string
}

// Link is a symbolic link. It is made once and never reset: programs on the machine may point it elsewhere.
type Link struct {
	Path   string
	Target string // absolute, or relative to the link's directory
}

// User is a system user without login, with a group of the same name and number.
type User struct {
	Name string
	ID   int
	Home string // not created
}

// Unit is a systemd unit's state. The unit's text is a File under /etc/systemd/system, or comes with the system.
type Unit struct {
	Name    string
	Enabled bool // started at every boot, by the [Install] section of the unit
	Started bool // to be started in the first boot also where the unit was not yet there when systemd began (cloud-init)
	Masked  bool // can never start
}

// Sort puts every list into its order: by path, or by name.
func (n *Node) Sort() {
	slices.SortFunc(n.Users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(n.Dirs, func(a, b Dir) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(n.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(n.Links, func(a, b Link) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(n.Units, func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
}

// Alike returns the files in the order in which they compress best, which is the order of a document: neighbours resemble each other. PEM, of which
// nothing but other PEM has anything, is last; the rest is by the ending of its name.
func (n *Node) Alike() []File {
	files := copied(n.Files)
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.kind(), b.kind()), cmp.Compare(a.Path, b.Path))
	})
	return files
}

// kind is the ending of a file's name, or for PEM what is behind all endings.
func (f *File) kind() string {
	if bytes.HasPrefix(f.Content, []byte("-----BEGIN ")) {
		return "~"
	}
	return path.Ext(f.Path)
}

// File returns the file of that path, or nil.
func (n *Node) File(at string) *File {
	for i := range n.Files {
		if n.Files[i].Path == at {
			return &n.Files[i]
		}
	}
	return nil
}

// Delivered returns n as a machine gets it: sorted, owners spelt out, empty lists and contents nil, and only what a
// document says about the machine. Role, reasons, names of secrets and the network-config stay with the renderer.
// Name is what /etc/hostname holds, or empty: a document carries no other name. Started is gone, since it says how a
// first boot proceeds and not what the machine becomes, and so are units without a state, and Login without a key.
// Both packers' Unpack return this form.
func (n *Node) Delivered() Node {
	d := *n
	d.Name, d.Role, d.NetworkConfig = "", "", nil
	if f := n.File("/etc/hostname"); f != nil {
		d.Name = strings.TrimSuffix(string(f.Content), "\n")
	}
	d.Users, d.Dirs, d.Files = copied(n.Users), copied(n.Dirs), copied(n.Files)
	d.Links, d.AuthorizedKeys = copied(n.Links), copied(n.AuthorizedKeys)
	for i := range d.Dirs {
		d.Dirs[i].User, d.Dirs[i].Group = Owner(d.Dirs[i].User), Owner(d.Dirs[i].Group)
	}
	for i := range d.Files {
		f := &d.Files[i]
		f.User, f.Group, f.Secret, f.Why, f.From, f.Shown = Owner(f.User), Owner(f.Group), "", "", nil, nil
		if len(f.Content) == 0 {
			f.Content = nil
		}
	}
	d.Units = nil
	for _, u := range n.Units {
		if u.Enabled || u.Masked {
			d.Units = append(d.Units, Unit{Name: u.Name, Enabled: u.Enabled, Masked: u.Masked})
		}
	}
	if len(d.AuthorizedKeys) == 0 {
		d.Login = ""
	}
	d.Sort()
	return d
}

// Split divides n into what its document has and what stands in the body that the machine fetches: the files that body takes and, if extra says so,
// what only Ignition can express. Users and directories stay in the document, and are there before the files.
func (n *Node) Split(body func(f *File) bool, extra bool) (document, rest *Node) {
	kept, fetched := *n, Node{Name: n.Name, Role: n.Role}
	kept.Files = nil
	for i := range n.Files {
		if body(&n.Files[i]) {
			fetched.Files = append(fetched.Files, n.Files[i])
		} else {
			kept.Files = append(kept.Files, n.Files[i])
		}
	}
	if extra {
		kept.Extra, fetched.Extra = nil, n.Extra
	}
	return &kept, &fetched
}

// Join returns the machine of which n is what its document has, and rest what it fetches: the inverse of Split.
func (n *Node) Join(rest *Node) Node {
	all := *n
	all.Remote = nil
	all.Users = slices.Concat(n.Users, rest.Users)
	all.Dirs = slices.Concat(n.Dirs, rest.Dirs)
	all.Files = slices.Concat(n.Files, rest.Files)
	all.Links = slices.Concat(n.Links, rest.Links)
	all.Units = slices.Concat(n.Units, rest.Units)
	if len(rest.AuthorizedKeys) > 0 {
		all.Login, all.AuthorizedKeys = rest.Login, rest.AuthorizedKeys
	}
	if len(rest.Extra) > 0 {
		all.Extra = rest.Extra
	}
	return all.Delivered()
}

// copied returns a copy of list, nil if list is empty.
func copied[T any](list []T) []T {
	return append([]T(nil), list...)
}

// Owner returns the user or group that a name in a File or Dir stands for: an empty one is Root.
func Owner(name string) string {
	return cmp.Or(name, Root)
}
