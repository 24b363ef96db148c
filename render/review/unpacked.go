package review

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"kiln/render/change"
	"kiln/render/document"
	"kiln/render/node"
	"kiln/render/secret"
	"kiln/render/terminal"
)

// Unpacked is the machine of a boot document, as people may look at it. A document does not say which of its files are secrets: concealed
// decides it.
type Unpacked struct {
	node     *node.Node // as the document has it; files that are concealed are marked
	metaData []byte     // what cloud-init got beside it
	shown    bool       // secrets too
}

// Beside adds what cloud-init gets beside its user-data. Each of them may be empty.
func (u *Unpacked) Beside(networkConfig, metaData []byte) {
	u.node.NetworkConfig, u.metaData = networkConfig, metaData
}

// ShowSecrets ends the concealment.
func (u *Unpacked) ShowSecrets() { u.shown = true }

// ParseDocument reads a boot document in any form that parse reads.
func ParseDocument(doc []byte) (*Unpacked, error) {
	n, err := document.Parse(doc)
	if err != nil {
		return nil, err
	}
	conceal(n)
	return &Unpacked{node: n}, nil
}

// ErrBody is the cause when a body is not the one of its document.
var ErrBody = errors.New("not the body that the document names: its SHA-512 is another; render both again, or name the right one")

// Missing is the body that the machine of an unpacked document fetches; nil if it needs none, or if Fetch has got it.
func (u *Unpacked) Missing() *UnpackedBody {
	if u.node.Remote == nil {
		return nil
	}
	return &UnpackedBody{terminal.Visible(u.node.Remote.URL, ""), terminal.Visible(u.node.Remote.SHA512, "")}
}

// Fetch completes the machine with its body.
func (u *Unpacked) Fetch(body []byte) error {
	sum := sha512.Sum512(body)
	if u.node.Remote == nil || hex.EncodeToString(sum[:]) != u.node.Remote.SHA512 {
		return ErrBody
	}
	rest, err := document.Decode(body)
	if err != nil {
		return errors.New(terminal.Visible(err.Error(), "\n"))
	}
	if rest.Remote != nil {
		return errors.New("the body refers to another body")
	}
	joined := u.node.Join(rest)
	conceal(&joined)
	joined.NetworkConfig = u.node.NetworkConfig
	u.node = &joined
	return nil
}

// conceal marks the files that are not shown.
func conceal(n *node.Node) {
	for i := range n.Files {
		if f := &n.Files[i]; secret.IsConcealed(f) {
			f.Secret = secret.Redacted
		}
	}
}

// reviewed returns what may be shown of the machine, in the order of an INDEX: each thing's line, and below it what certificates say. Names that
// would move a terminal's cursor, or look like a line of their own, are made harmless.
func (u *Unpacked) reviewed() change.Entries {
	n := *u.node
	n.Users, n.Dirs, n.Files, n.Links = slices.Clone(n.Users), slices.Clone(n.Dirs), slices.Clone(n.Files), slices.Clone(n.Links)
	n.Units, n.AuthorizedKeys = slices.Clone(n.Units), slices.Clone(n.AuthorizedKeys)
	n.NetworkConfig, n.Extra, n.CloudConfig = []byte(u.readable(n.NetworkConfig)), []byte(u.readable(n.Extra)), []byte(u.readable(n.CloudConfig))
	harmless := func(texts ...*string) {
		for _, text := range texts {
			*text = terminal.Visible(*text, "")
		}
	}
	for i := range n.Files {
		harmless(&n.Files[i].Path, &n.Files[i].User, &n.Files[i].Group)
	}
	for i := range n.Dirs {
		harmless(&n.Dirs[i].Path, &n.Dirs[i].User, &n.Dirs[i].Group)
	}
	for i := range n.Links {
		harmless(&n.Links[i].Path, &n.Links[i].Target)
	}
	for i := range n.Units {
		harmless(&n.Units[i].Name)
	}
	for i := range n.Users {
		harmless(&n.Users[i].Name, &n.Users[i].Home)
	}
	for i := range n.AuthorizedKeys {
		harmless(&n.AuthorizedKeys[i])
	}
	for i := range n.Files {
		for _, line := range certificates(n.Files[i].Content) {
			n.Files[i].Shown = append(n.Files[i].Shown, terminal.Visible(line, ""))
		}
		n.Files[i].Content = nil
	}
	list := entriesOf(&n)
	if len(u.metaData) > 0 {
		list = append(list, &change.Entry{Key: change.Key{Kind: "meta-data"}, Content: []byte(u.readable(u.metaData))})
	}
	return list
}

// List lists the machine as INDEX does in the review twin.
func (u *Unpacked) List() []byte {
	var b bytes.Buffer
	for _, e := range u.reviewed() {
		b.WriteString(indexLines(e))
	}
	return b.Bytes()
}

// Tree is List with directories, files and links as a tree.
func (u *Unpacked) Tree() []byte {
	var tree change.Entries
	var before, after bytes.Buffer
	for _, e := range u.reviewed() {
		switch {
		case e.Kind == "dir" || e.Kind == "file" || e.Kind == "link":
			tree = append(tree, e)
		case len(tree) == 0:
			before.WriteString(indexLines(e))
		default:
			after.WriteString(indexLines(e))
		}
	}
	// A folder's things stand below it, whatever else has a name that begins like the folder's.
	slices.SortStableFunc(tree, func(a, b *change.Entry) int {
		return slices.Compare(strings.Split(a.ID, "/"), strings.Split(b.ID, "/"))
	})
	var above []string
	for _, e := range tree {
		parts := strings.Split(strings.TrimPrefix(e.ID, "/"), "/")
		for i := range parts[:len(parts)-1] {
			if i >= len(above) || !slices.Equal(parts[:i+1], above[:i+1]) {
				fmt.Fprintf(&before, "%s%s/\n", strings.Repeat("  ", i), parts[i])
			}
		}
		above = parts
		indent, name := strings.Repeat("  ", len(parts)-1), parts[len(parts)-1]
		if e.Kind == "dir" {
			name += "/"
		}
		// The line of an INDEX is the kind in four columns, what is known of it and, before a link's target, its path.
		line, below, _ := strings.Cut(indexLines(e), "\n")
		fmt.Fprintf(&before, "%s%s%s\n", indent, name, strings.Replace(line[4:], " "+e.ID, "", 1))
		for text := range strings.Lines(below) {
			before.WriteString(indent + text)
		}
	}
	return slices.Concat(before.Bytes(), after.Bytes())
}

// Folder returns the files of the machine by their paths below a folder, with an INDEX that tells
// modes, owners, links and units, and how many of them are secrets. It fails for paths that lead out of
// the folder and for paths that are used twice.
func (u *Unpacked) Folder() (files map[string][]byte, secrets int, err error) {
	files = map[string][]byte{}
	for i := range u.node.Files {
		f := &u.node.Files[i]
		name := strings.TrimPrefix(f.Path, "/")
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
			return nil, 0, fmt.Errorf("file %q: not an absolute, clean path: this is no document of kiln's; list it without --out", f.Path)
		}
		if _, taken := files[name]; taken || name == IndexFile {
			return nil, 0, fmt.Errorf("file %q: the path is used twice, or is that of the list of files; list the document without --out", f.Path)
		}
		content, secret := u.content(f)
		if secret {
			secrets++
		}
		files[name] = content
	}
	files[IndexFile] = u.List()
	return files, secrets, nil
}

// UnpackedMachine is an unpacked machine for programs.
type UnpackedMachine struct {
	Name           string          `json:"name,omitempty"`
	Users          []UnpackedUser  `json:"users"`
	Directories    []UnpackedFile  `json:"directories"`
	Files          []UnpackedFile  `json:"files"`
	Links          []UnpackedLink  `json:"links"`
	Units          []UnpackedUnit  `json:"units"`
	Login          string          `json:"login,omitempty"`
	AuthorizedKeys []string        `json:"authorizedKeys"`
	NetworkConfig  string          `json:"networkConfig,omitempty"`
	MetaData       string          `json:"metaData,omitempty"`
	Ignition       json.RawMessage `json:"ignition,omitempty"`
	CloudConfig    json.RawMessage `json:"cloudConfig,omitempty"`
	// Fetches is the body that the machine fetches and that is not here.
	Fetches *UnpackedBody `json:"fetches,omitempty"`
}

// UnpackedBody is where a body is, and which one it is.
type UnpackedBody struct {
	URL    string `json:"url"`
	SHA512 string `json:"sha512"`
}

// UnpackedUser is a system user.
type UnpackedUser struct {
	Name string `json:"name"`
	ID   int    `json:"id"`
	Home string `json:"home,omitempty"`
}

// UnpackedFile is a file or directory.
type UnpackedFile struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"`  // octal
	Owner string `json:"owner"` // user:group
	// Secret says that the content is one, or may be.
	Secret       bool     `json:"secret,omitempty"`
	Certificates []string `json:"certificates,omitempty"` // what the certificates in it say
	// Content is the file's text, or its bytes in the encoding base64; absent unless it was asked for and may be shown.
	Content  *string `json:"content,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
}

// UnpackedLink is a symbolic link.
type UnpackedLink struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

// UnpackedUnit is the state of a systemd unit.
type UnpackedUnit struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Masked  bool   `json:"masked"`
}

// Machine returns everything that List does.
func (u *Unpacked) Machine() *UnpackedMachine {
	n := u.node
	m := &UnpackedMachine{
		Name: n.Name, Login: n.Login, AuthorizedKeys: append([]string{}, n.AuthorizedKeys...),
		Users: []UnpackedUser{}, Directories: []UnpackedFile{}, Files: []UnpackedFile{}, Links: []UnpackedLink{}, Units: []UnpackedUnit{},
		NetworkConfig: string(u.settings(n.NetworkConfig)), MetaData: string(u.settings(u.metaData)), Ignition: u.settings(n.Extra), CloudConfig: u.settings(n.CloudConfig), Fetches: u.Missing(),
	}
	for _, user := range n.Users {
		m.Users = append(m.Users, UnpackedUser(user))
	}
	for _, d := range n.Dirs {
		m.Directories = append(m.Directories, UnpackedFile{Path: d.Path, Mode: octal(d.Mode), Owner: d.User + ":" + d.Group})
	}
	for i := range n.Files {
		m.Files = append(m.Files, u.file(&n.Files[i]))
	}
	for _, l := range n.Links {
		m.Links = append(m.Links, UnpackedLink(l))
	}
	for _, unit := range n.Units {
		m.Units = append(m.Units, UnpackedUnit{unit.Name, unit.Enabled, unit.Masked})
	}
	return m
}

func (u *Unpacked) file(f *node.File) UnpackedFile {
	return UnpackedFile{Path: f.Path, Mode: octal(f.Mode), Owner: f.User + ":" + f.Group, Secret: f.Secret != "", Certificates: certificates(f.Content)}
}

// Files returns files with their contents, for programs.
func (u *Unpacked) Files(paths []string) ([]UnpackedFile, error) {
	files, err := u.find(paths)
	out := []UnpackedFile{}
	for _, f := range files {
		file := u.file(f)
		if u.shown || !file.Secret {
			text := string(f.Content)
			if !utf8.Valid(f.Content) {
				file.Encoding, text = "base64", base64.StdEncoding.EncodeToString(f.Content)
			}
			file.Content = &text
		}
		out = append(out, file)
	}
	return out, err
}

// Contents returns the contents of files, one after the other, with a line in place of each secret, and how many of them are secrets.
func (u *Unpacked) Contents(paths []string) (text []byte, secrets int, err error) {
	files, err := u.find(paths)
	for _, f := range files {
		content, secret := u.content(f)
		text = append(text, content...)
		if secret {
			secrets++
		}
	}
	return text, secrets, err
}

// find returns the files at paths.
func (u *Unpacked) find(paths []string) (files []*node.File, err error) {
	var missing []error
	for _, p := range paths {
		f := u.node.File(p)
		if f == nil {
			missing = append(missing, fmt.Errorf("the document has no file %s", terminal.Visible(p, "")))
			continue
		}
		files = append(files, f)
	}
	if len(missing) > 0 {
		return nil, errors.Join(append(missing, errors.New("kiln unpack without a path lists what there is"))...)
	}
	return files, nil
}

// content returns a file's content, or what stands in its place, and whether it is a secret.
func (u *Unpacked) content(f *node.File) (content []byte, secret bool) {
	if f.Secret != "" && !u.shown {
		return []byte(f.Secret + "\n"), true
	}
	return f.Content, f.Secret != ""
}

// settings returns settings in YAML or JSON with their secrets redacted.
func (u *Unpacked) settings(text []byte) []byte {
	if u.shown || len(text) == 0 {
		return text
	}
	return secret.Redact(text)
}

// readable returns settings as they may be listed.
func (u *Unpacked) readable(text []byte) string {
	return terminal.Visible(string(u.settings(text)), "\n\t")
}
