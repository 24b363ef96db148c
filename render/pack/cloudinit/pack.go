// Package cloudinit turns a node.Node into cloud-init's documents, user-data and NoCloud's
// meta-data, and back. Other packages decide what a machine has, and how a document reaches it.
package cloudinit

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/pack/compress"
)

const (
	// header tells cloud-init the format of the document.
	header  = "#cloud-config\n"
	unitDir = "/etc/systemd/system/"
	// hostname is the file that sets the host name. If a machine has it, cloud-init must not set
	// one.
	hostname = "/etc/hostname"
	// mimeWindow is how many bytes of a document cloud-init searches for signs of a MIME message.
	mimeWindow = 4096
)

// The scripts take every value as an argument, so that no shell ever parses one.
const (
	// makeUser makes group and user $1 with number $2 and home $3, unless they exist.
	makeUser = `getent group "$1" >/dev/null || groupadd --system --gid "$2" "$1"
getent passwd "$1" >/dev/null || useradd --system --uid "$2" --gid "$1" --no-create-home ` +
		`${3:+--home-dir "$3"} --shell /usr/sbin/nologin "$1"`
)

// Packer packs the machines of a cluster, and does once what they have in common. The zero value is
// ready. Its methods may be called from several goroutines.
type Packer struct {
	frames once.Values[frame]  // by the shapes of nodes
	bodies once.Values[[]byte] // the ends of entries of write_files, by contents
}

// frame is a document without the contents of its files: what comes before each of them, and behind
// the last.
type frame struct {
	parts [][]byte
	err   error
}

// Pack returns the user-data of n: #cloud-config that every cloud-init from 22.4 to 26.2 accepts
// without a warning, equal bytes for equal nodes. Users and directories are made before the files,
// at every boot. The rest happens at the first boot only: the paths of secrets are protected
// (protect.go), then files, and, as soon as they are written (start.go), owners that are numbers,
// then links, then units. Units are masked and enabled, and those with Started are started without
// waiting for them. A link does not replace what exists. /etc/hosts is left alone. The host name is
// left alone if n has a file for it; otherwise cloud-init sets the platform's. With n.Remote the
// machine fetches its body before the files are written, and waits until it has it.
//
// If limit is positive and the document is longer than limit bytes, Pack returns it compressed with
// gzip, which may still be longer than limit. If textOnly is true, the result is a MIME message
// with that as its one part, in base64.
//
// It fails if n has what cloud-init cannot express: Extra, a path that is not absolute and clean, a
// mode beyond the permission bits, an invalid name, a string that is not UTF-8, the same path, user
// or unit twice, a unit that is masked and also started, enabled or among the files. The error has
// all such mistakes, with their paths, never with a content.
func (p *Packer) Pack(n *node.Node, limit int, textOnly bool) ([]byte, error) {
	files := n.Alike()
	f := p.frames.Of(n.Shape(files), func() frame { return newFrame(n, files) })
	if f.err != nil {
		return nil, f.err
	}
	parts := make([][]byte, 0, 2*len(f.parts))
	for i := range files {
		parts = append(parts, f.parts[i], p.bodies.Of(files[i].Content, func() []byte {
			return bytes.TrimPrefix(file{}.with(files[i].Content).entry(), emptyHead)
		}))
	}
	doc := bytes.Join(append(parts, f.parts[len(files)]), nil)
	if mentionsMIME(doc[:min(len(doc), mimeWindow)]) {
		return nil, errors.New(`a path, key or name holds "mime-version:", for which cloud-init ` +
			`would take the document for a MIME message`)
	}
	if limit <= 0 || len(doc) <= limit {
		return doc, nil
	}
	zipped := compress.Gzip(doc, n.Breaks()...)
	if textOnly {
		return message(zipped), nil
	}
	return zipped, nil
}

// newFrame returns the document of n without the entries of its files.
func newFrame(n *node.Node, files []node.File) frame {
	if err := check(n); err != nil {
		return frame{err: err}
	}
	c := userData(n)
	if err := checkProtected(n, c.Bootcmd); err != nil {
		return frame{err: err}
	}
	mark := file{Path: "kiln"}
	if len(files) > 0 {
		c.WriteFiles = []file{mark}
	}
	doc, err := encodeYAML(c)
	if err != nil {
		return frame{err: fmt.Errorf("encode the cloud-config: %w", err)}
	}
	// Every string of the rest is quoted, so these lines stand there once.
	before, tail, _ := bytes.Cut(doc, mark.entry())
	before, parts := append([]byte(header), before...), [][]byte{}
	for i := range files {
		parts = append(parts, append(before, newFile(&files[i]).head()...))
		before = nil
	}
	return frame{parts: append(parts, append(before, tail...))}
}

// MetaData returns NoCloud's meta-data: the instance's identity, and the machine's name if there is
// one. With another identity cloud-init treats the next boot as a first boot.
func MetaData(name, instance string) []byte {
	// Both are of ASCII, which Go quotes as YAML does.
	out := fmt.Appendf(nil, "instance-id: %q\n", instance)
	if name != "" {
		out = fmt.Appendf(out, "local-hostname: %q\n", name)
	}
	return out
}

// userData returns the cloud-config of n without write_files.
func userData(n *node.Node) config {
	// If the document has no name, the machine gets the platform's name.
	c := config{PreserveHostname: n.File(hostname) != nil || n.Remote != nil && n.Remote.Named}
	c.Passed, _ = readPassed(n.CloudConfig) // check has read it without an error
	if users, ok := c.Passed[usersKey]; ok {
		c.Users = users
		delete(c.Passed, usersKey)
	}
	switch keys := quotedList(n.AuthorizedKeys); {
	case keys == nil:
	case n.Login == "":
		c.AuthorizedKeys = keys
	default:
		if err := c.Users.Encode([]login{{Name: defaultLogin},
			{Name: quoted(n.Login), AuthorizedKeys: keys}}); err != nil {
			panic("cloudinit: a name and keys cannot be encoded: " + err.Error())
		}
	}
	if len(n.Files) > 0 || n.Remote != nil {
		c.Bootcmd = append(c.Bootcmd, argv{"sh", "-c", beginAgain})
	}
	for _, u := range n.Users {
		c.Bootcmd = append(c.Bootcmd, userCommand(u))
	}
	for _, d := range n.Dirs {
		c.Bootcmd = append(c.Bootcmd, dirCommand(d))
	}
	if command := protectCommand(unprotected(n, c.Bootcmd)); command != nil {
		c.Bootcmd = append(c.Bootcmd, command)
	}
	if n.Remote != nil {
		c.Bootcmd = append(c.Bootcmd, fetchCommand(n.Remote))
	}
	c.Bootcmd = append(c.Bootcmd, startCommands(n)...)
	return c
}

// newFile returns the entry of write_files for a file, without its content.
func newFile(f *node.File) file {
	owner := node.Owner(f.User) + ":" + node.Owner(f.Group)
	if isNumbered(f) {
		owner = node.Root + ":" + node.Root
	}
	return file{
		Path:        quoted(f.Path),
		Permissions: quoted(octal(f.Mode)),
		Owner:       quoted(owner),
	}
}

// beginAgain makes cloud-init repeat its first boot, if that boot was interrupted before the
// machine had verified its files. cloud-init neither syncs files nor writes them twice: after a
// power cut its mark can say that files were written that are empty. The command runs at every
// boot, before the modules that it repeats.
const beginAgain = "[ -e " + node.Verified + " ] || " +
	"rm -f /var/lib/cloud/instance/sem/config_write_files"

func userCommand(u node.User) argv {
	return argv{"sh", "-c", makeUser, "--", u.Name, strconv.Itoa(u.ID), u.Home}
}

func dirCommand(d node.Dir) argv {
	return argv{"install", "-d", "-m", octal(d.Mode), "-o", node.Owner(d.User), "-g",
		node.Owner(d.Group), "--", d.Path}
}

// isNumbered reports whether the file's owner or group is a number. write_files looks up names only
// (cloudinit/util.py, chownbyname, at 26.2), so it gives such a file to root.
func isNumbered(f *node.File) bool {
	return number.MatchString(f.User) || number.MatchString(f.Group)
}

func quotedList(list []string) []quoted {
	var out []quoted
	for _, s := range list {
		out = append(out, quoted(s))
	}
	return out
}

func octal(mode uint32) string {
	return fmt.Sprintf("%04o", mode)
}

var (
	// account matches the names that shadow's tools accept. A colon would end a name early in
	// write_files' owner.
	account = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`)
	// number matches a user or group in a File or Dir that is a number.
	number = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)
	// unitName matches the names of units, without characters that make systemctl see a path or a
	// pattern.
	unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+$`)
)

// check fails with everything in n that user-data cannot express.
func check(n *node.Node) error {
	var all []error
	bad := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	paths := make(map[string]bool)
	place := func(kind, p string) {
		if !inert(p) || !path.IsAbs(p) || path.Clean(p) != p {
			bad("%s %q: not an absolute, clean path", kind, p)
		}
		if paths[p] {
			bad("%s %q: something else has this path", kind, p)
		}
		paths[p] = true
	}
	names := func(thing string, list ...string) {
		for _, name := range list {
			// To write_files the owner "none" means no owner.
			if name != "" && (!account.MatchString(name) || strings.EqualFold(name, "none")) {
				bad("%s: %q is not a user's or group's name", thing, name)
			}
		}
	}
	if len(n.Extra) > 0 {
		bad("extra Ignition config: cloud-init has no counterpart")
	}
	values, err := readPassed(n.CloudConfig)
	if err != nil {
		bad("%w", err)
	}
	if users, ok := values[usersKey]; ok {
		if _, ours := loginOf(&users); ours && len(n.AuthorizedKeys) == 0 || n.Login != "" {
			bad("users: a user who has nothing but ssh keys is the login, and there is one")
		}
	}
	names("login", n.Login)
	for _, k := range n.AuthorizedKeys {
		if !inert(k) {
			bad("ssh key %q: not text", k)
		}
	}
	users := make(map[string]bool)
	for _, u := range n.Users {
		names("user", u.Name)
		if u.Name == "" || !inert(u.Home) {
			bad("user %q: no name, or a home that is not a path", u.Name)
		}
		if users[u.Name] {
			bad("user %s: stands there twice", u.Name)
		}
		users[u.Name] = true
	}
	owners := func(thing string, list ...string) {
		names(thing, slices.DeleteFunc(list, number.MatchString)...)
	}
	for _, d := range n.Dirs {
		place("directory", d.Path)
		owners("directory "+d.Path, d.User, d.Group)
		if d.Mode > 0o777 {
			bad("directory %s: mode %#o is more than permission bits", d.Path, d.Mode)
		}
	}
	for _, f := range n.Files {
		place("file", f.Path)
		owners("file "+f.Path, f.User, f.Group)
		if f.Mode > 0o777 {
			bad("file %s: mode %#o is more than permission bits", f.Path, f.Mode)
		}
	}
	for _, l := range n.Links {
		place("link", l.Path)
		if l.Target == "" || !inert(l.Target) {
			bad("link %s: %q is not a target", l.Path, l.Target)
		}
	}
	units := make(map[string]bool)
	for _, u := range n.Units {
		if units[u.Name] {
			bad("unit %s: stands there twice", u.Name)
		}
		units[u.Name] = true
		if !unitName.MatchString(u.Name) {
			bad("unit %q: not a unit's name", u.Name)
		}
		if u.Masked && (u.Enabled || u.Started) {
			bad("unit %s: masked, and to be started too", u.Name)
		}
		if u.Masked && paths[unitDir+u.Name] {
			bad("unit %s: masked, but its text is among the files", u.Name)
		}
	}
	return errors.Join(all...)
}

// inert reports whether s can be a word of a command.
func inert(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00")
}
