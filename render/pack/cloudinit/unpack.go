package cloudinit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/compress"
)

// Unpack returns the machine that doc, user-data made by Pack, describes: for every n,
// Unpack(Pack(n)) is n.Delivered(). Name is the content of /etc/hostname without its newline, or
// empty.
//
// It fails if doc is not #cloud-config (plain, compressed, or compressed in a MIME message), is
// larger than 64 MiB, or was cut off (node.CheckWhole). It also fails for YAML aliases, and at the
// first key or command that Pack does not write, because its effect on the machine is unknown.
func Unpack(doc []byte) (node.Node, error) {
	if !isGzip(doc) && IsMessage(doc) {
		zipped, err := unmessage(doc)
		if err != nil {
			return node.Node{}, err
		}
		doc = zipped
	}
	if isGzip(doc) {
		plain, err := compress.Gunzip(doc)
		if err != nil {
			return node.Node{}, err
		}
		doc = plain
	}
	if len(doc) > compress.MaxDocument {
		return node.Node{}, fmt.Errorf("the document is larger than %d bytes", compress.MaxDocument)
	}
	if !bytes.HasPrefix(doc, []byte(header)) {
		return node.Node{}, errors.New("the document does not begin with the line #cloud-config")
	}
	if values(doc) > maxValues {
		return node.Node{}, fmt.Errorf("the document has more than %d lines and values", maxValues)
	}
	if hasAlias(doc) {
		return node.Node{}, errors.New("the document has YAML aliases; kiln writes none")
	}
	d := yaml.NewDecoder(bytes.NewReader(doc))
	d.KnownFields(true)
	var c config
	if err := d.Decode(&c); err != nil {
		return node.Node{}, withoutValues(err)
	}
	if !errors.Is(d.Decode(new(yaml.Node)), io.EOF) {
		return node.Node{}, errors.New("more stands behind the end of the document, which " +
			"cloud-init would not read: it was changed")
	}
	n, err := machine(c)
	if err != nil {
		return node.Node{}, err
	}
	if n.Remote == nil { // with a body, the list of files is there
		var last []string
		if count := len(n.Files); count > 0 {
			last = []string{n.Files[count-1].Path}
		}
		err = n.CheckWhole(last...)
	}
	if err == nil {
		err = checkProtects(&n, c.Bootcmd)
	}
	return n.Delivered(), err
}

func isGzip(doc []byte) bool { return bytes.HasPrefix(doc, []byte{0x1f, 0x8b}) }

// quotedValue matches the beginning of a value in an error of the decoder; the value may be a
// secret.
var quotedValue = regexp.MustCompile("!!(\\w+) `[^`\n]*`")

func withoutValues(err error) error {
	return errors.New(quotedValue.ReplaceAllString(err.Error(), "!!$1"))
}

// maxValues is the largest number of lines and values in a document. The parser takes some hundred
// bytes for each, so that a document of commas would take a hundred times its size. The document of
// a control plane has ten thousand.
const maxValues = 1 << 20

// values returns an upper bound of the number of values in a YAML document: each begins or ends
// with one of these characters, which strings may have too.
func values(doc []byte) (n int) {
	for _, c := range doc {
		switch c {
		case '\n', ',', ':', '-', '?', '[', '{':
			n++
		}
	}
	return n
}

// hasAlias reports whether a YAML document refers to an anchor. Each alias of two bytes would be a
// copy of the whole value. A document that is no YAML has none.
func hasAlias(doc []byte) bool {
	if bytes.IndexByte(doc, '&') < 0 || bytes.IndexByte(doc, '*') < 0 {
		return false
	}
	var root yaml.Node
	if yaml.Unmarshal(doc, &root) != nil {
		return false
	}
	var below func(n *yaml.Node) bool
	below = func(n *yaml.Node) bool {
		return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, below)
	}
	return below(&root)
}

// machine is the inverse of userData.
func machine(c config) (n node.Node, err error) {
	n.AuthorizedKeys = plainList(c.AuthorizedKeys)
	if l, ours := loginOf(&c.Users); ours && len(c.AuthorizedKeys) == 0 {
		n.Login, n.AuthorizedKeys = string(l.Name), plainList(l.AuthorizedKeys)
	} else if !c.Users.IsZero() {
		if c.Passed == nil {
			c.Passed = map[string]yaml.Node{}
		}
		c.Passed[usersKey] = c.Users
	}
	if n.CloudConfig, err = writePassed(c.Passed); err != nil {
		return n, err
	}
	for _, f := range c.WriteFiles {
		own := node.File{Path: string(f.Path)}
		var found bool
		if own.User, own.Group, found = strings.Cut(string(f.Owner), ":"); !found {
			return n, fmt.Errorf("file %s: its owner is not user:group", f.Path)
		}
		if own.Mode, err = permissions(string(f.Permissions)); err != nil {
			return n, fmt.Errorf("file %s: %w", f.Path, err)
		}
		if own.Content, err = decode(f.Content, f.Encoding); err != nil {
			return n, fmt.Errorf("file %s: %w", f.Path, err)
		}
		n.Files = append(n.Files, own)
	}
	for i, command := range c.Bootcmd {
		if !readBootCommand(command, &n) {
			return n, unknown("bootcmd", i)
		}
	}
	named := n.File(hostname) != nil
	if n.Remote != nil {
		n.Remote.Named = c.PreserveHostname && !named
		named = c.PreserveHostname
	}
	if c.ManageEtcHosts || c.PreserveHostname != named {
		return n, errors.New("preserve_hostname or manage_etc_hosts is not what kiln writes for " +
			"these files: the document is cut off, or was changed")
	}
	return n, nil
}

// readBootCommand adds to n what the command makes or starts. It reports whether kiln writes such a
// command.
func readBootCommand(command argv, n *node.Node) bool {
	switch {
	case slices.Equal(command, argv{"sh", "-c", beginAgain}):
		return true
	case n.Remote == nil && readFetchCommand(command) != nil:
		n.Remote = readFetchCommand(command)
		return true
	case len(command) == 7 && command[2] == makeUser:
		id, err := strconv.Atoi(command[5])
		u := node.User{Name: command[4], ID: id, Home: command[6]}
		if err == nil && slices.Equal(command, userCommand(u)) {
			n.Users = append(n.Users, u)
			return true
		}
	case readDirCommand(command, n), isProtectCommand(command): // checkProtects reads the latter
		return true
	default:
		return readStartCommand(command, n)
	}
	return false
}

// readDirCommand adds to n the folder that the command makes. It reports whether dirCommand returns
// it.
func readDirCommand(command argv, n *node.Node) bool {
	if len(command) != 10 || command[0] != "install" {
		return false
	}
	mode, err := permissions(command[3])
	d := node.Dir{Path: command[9], Mode: mode, User: command[5], Group: command[7]}
	if err != nil || !slices.Equal(command, dirCommand(d)) {
		return false
	}
	n.Dirs = append(n.Dirs, d)
	return true
}

// unknown returns the error for a command that kiln does not write: the i-th of a key. It quotes no
// word of it, because a shell's command may have a password in its first word.
func unknown(key string, i int) error {
	return fmt.Errorf("%s: command %d is none that kiln writes: this is no document of kiln's, "+
		"or it was changed", key, i+1)
}

func permissions(octal string) (uint32, error) {
	mode, err := strconv.ParseUint(octal, 8, 9)
	if err != nil {
		return 0, errors.New("its permissions are not a mode in octal")
	}
	return uint32(mode), nil
}

func plainList(list []quoted) []string {
	var out []string
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}
