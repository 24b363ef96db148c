// Package node describes what one machine receives: its files, directories, links, users and units,
// in no packing format. Packages pack/ignition and pack/cloudinit write it in theirs, and know
// nothing of Kubernetes.
package node

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Roles of a machine.
const (
	ControlPlane = "control-plane"
	Worker       = "worker"
	Etcd         = "etcd" // a member of etcd and nothing else
)

// Verified is a file that exists once the hook has found the whole document on disk, unchanged.
const Verified = "/var/lib/kiln/state"

// BodyFiles are the body that a machine fetched and its CA, until the hook removes them.
var BodyFiles = []string{"/var/lib/kiln/body", "/var/lib/kiln/ca"}

// List is the file that lists all other files of the machine with their hashes.
const List = "/etc/kiln/files"

// Root is the owner of a file or directory that names none.
const Root = "root"

// FromConfig is the reason for a file that the user gave in cluster.yaml.
const FromConfig = "from cluster.yaml"

// Node is one machine, or one pool of machines that boot from the same document. Its lists are
// sorted by path or name; Sort does that.
type Node struct {
	Name string // the machine's or pool's name
	Role string // ControlPlane, Worker or Etcd

	Users []User // system users that own some of the files
	Dirs  []Dir  // directories whose mode or owner matters; other parents are made 0755 root
	Files []File
	Links []Link
	Units []Unit

	// Login is the user who receives AuthorizedKeys; empty means the image's default user ("core"
	// on Ignition systems).
	Login          string
	AuthorizedKeys []string

	// NetworkConfig is cloud-init's network-config as YAML, delivered beside the user-data.
	// Ignition has no counterpart.
	NetworkConfig []byte

	// Remote is the body that the machine fetches itself; nil if all of the machine is here.
	Remote *Remote

	// Extra holds what only Ignition can express (disks, file systems, kernel arguments, …) as an
	// Ignition config in JSON, without the files, directories, links and units above. Only machines
	// with Ignition have one.
	Extra json.RawMessage

	// CloudConfig holds what only cloud-init can express (disks, file systems, users who log in) as
	// a JSON object of its user-data's keys, sorted, without the fields above. Only machines with
	// cloud-init have one.
	CloudConfig json.RawMessage
}

// Remote says where a machine fetches its body, a document of the same format with the rest.
type Remote struct {
	URL    string // https, or http
	SHA512 string // of the body, in hex; the machine uses no body with another hash
	// Bytes is the length of the body; the machine downloads no more. Documents of Ignition do not
	// have it, because Ignition has no such limit.
	Bytes int
	// certificates in PEM of CAs for the server's certificate; empty for those that the system
	// trusts
	CA []byte
	// Whole reports whether the document has nothing but the address of the body.
	Whole bool
	// Named reports whether the body sets the host name. cloud-init then leaves the name alone;
	// Ignition never sets one.
	Named bool
}

// File is a regular file.
type File struct {
	Path    string // absolute and clean
	Mode    uint32 // permission bits, at most 0o777
	User    string // a name, or a number without leading zeros; empty means Root
	Group   string // the same
	Content []byte

	// what the secret is and its generation ("kubelet-client/worker-1 g1"); empty for a file that
	// is not secret
	Secret string
	Why    string // one line for people: what the file is for
	// the fields of the configuration that the content depends on, as far as they are known
	From []string

	// Shown are the lines that a reviewer sees in place of the content: one for each certificate,
	// name and generation of a secret. Nothing in them may be computed from a secret. If it is
	// empty the reviewer sees the content, or nothing if the file is a secret.
	Shown []string
}

// Dir is a directory whose mode or owner matters.
type Dir struct {
	Path  string
	Mode  uint32
	User  string
	Group string
}

// Link is a symbolic link, made once: programs on the machine may change its target.
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

// Unit is a systemd unit's state. Its text is a File, or comes with the system.
type Unit struct {
	Name    string
	Enabled bool // started at every boot, by the [Install] section of the unit
	// started in the first boot, even if the unit did not exist when systemd began (cloud-init)
	Started bool
	Masked  bool // can never start
}

// Sort sorts every list by path or by name.
func (n *Node) Sort() {
	slices.SortFunc(n.Users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(n.Dirs, func(a, b Dir) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(n.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(n.Links, func(a, b Link) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(n.Units, func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
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

// Delivered returns n as a machine gets it: sorted, with all owners named, empty lists and contents
// nil, and only what a document says about the machine. It has no role, reasons, names of secrets
// and network-config: package document keeps these for itself. Name is the content of
// /etc/hostname, or empty, because a document has no other name. Delivered drops Started, which is
// about the first boot and not about its result, units without a state, and Login without a key.
// Unpack of both packers returns this form.
func (n *Node) Delivered() Node {
	d := *n
	d.Name, d.Role, d.NetworkConfig = "", "", nil
	if f := n.File("/etc/hostname"); f != nil {
		d.Name = strings.TrimSuffix(string(f.Content), "\n")
	}
	d.Users, d.Dirs, d.Files = clone(n.Users), clone(n.Dirs), clone(n.Files)
	d.Links, d.AuthorizedKeys = clone(n.Links), clone(n.AuthorizedKeys)
	for i := range d.Dirs {
		d.Dirs[i].User, d.Dirs[i].Group = Owner(d.Dirs[i].User), Owner(d.Dirs[i].Group)
	}
	for i := range d.Files {
		f := &d.Files[i]
		f.User, f.Group = Owner(f.User), Owner(f.Group)
		f.Secret, f.Why, f.From, f.Shown = "", "", nil, nil
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

// Split divides n into the document and the rest, which is the body that the machine fetches. The
// body has the files for which inBody returns true and, if extra is true, n.Extra. All else stays
// in the document, so that users and directories are there before the files.
func (n *Node) Split(inBody func(f *File) bool, extra bool) (document, rest *Node) {
	kept, fetched := *n, Node{Name: n.Name, Role: n.Role}
	kept.Files = nil
	for i := range n.Files {
		if inBody(&n.Files[i]) {
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

// Join returns the machine with document n and body rest: of Split's halves, n.Delivered().
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

func clone[T any](list []T) []T {
	return append([]T(nil), list...)
}

// Owner returns the user or group for a name in a File or Dir: an empty name means Root.
func Owner(name string) string {
	return cmp.Or(name, Root)
}

// Shape returns all of n that a document depends on, except for the contents of files, its files in
// that order: for equal shapes documents differ in contents alone. Names of secrets are not part of
// it, but whether a file is one.
func (n *Node) Shape(files []File) (shape []byte) {
	shape = make([]byte, 0, 100*len(files))
	// Each word has its length before it, and each list the number of its words.
	list := func(words ...string) {
		shape = append(strconv.AppendInt(shape, int64(len(words)), 10), '#')
		for _, word := range words {
			shape = append(strconv.AppendInt(shape, int64(len(word)), 10), ':')
			shape = append(shape, word...)
		}
	}
	for _, u := range n.Users {
		list("user", u.Name, strconv.Itoa(u.ID), u.Home)
	}
	for _, d := range n.Dirs {
		list("dir", d.Path, strconv.FormatUint(uint64(d.Mode), 8), d.User, d.Group)
	}
	for i := range files {
		f := &files[i]
		list("file", f.Path, strconv.FormatUint(uint64(f.Mode), 8), f.User, f.Group,
			strconv.FormatBool(f.Secret != ""))
	}
	for _, l := range n.Links {
		list("link", l.Path, l.Target)
	}
	for _, u := range n.Units {
		list("unit", u.Name, strconv.FormatBool(u.Enabled), strconv.FormatBool(u.Started),
			strconv.FormatBool(u.Masked))
	}
	list(slices.Concat([]string{"login", n.Login}, n.AuthorizedKeys)...)
	list("extra", string(n.Extra), string(n.CloudConfig))
	if r := n.Remote; r != nil {
		list("remote", r.URL, r.SHA512, strconv.Itoa(r.Bytes), string(r.CA),
			strconv.FormatBool(r.Whole), strconv.FormatBool(r.Named))
	}
	return shape
}
