// Package ignition turns a node.Node into an Ignition document (spec 3.4.0) and back, and a user's
// Butane snippet into parts of a node. Other packages decide what a machine has, and how a document
// reaches it.
package ignition

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clarketm/json"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/coreos/ignition/v2/config/validate"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/pack/compress"
)

const (
	// defaultLogin is the user of Flatcar's and Fedora CoreOS' images.
	defaultLogin = "core"
	noLogin      = "/usr/sbin/nologin"
	unitDir      = "/etc/systemd/system/"
)

// Packer packs the machines of a cluster, and does once what they have in common. The zero value is
// ready. Its methods may be called from several goroutines.
type Packer struct {
	// frames holds the documents without the contents of their files, by the shapes of the nodes:
	// the parts before, between and behind the contents. There is none where validation finds
	// something, and where the user's config has a mark of its own.
	frames once.Values[[][]byte]
	// urls holds the data URLs of contents as they stand in JSON. There is none where validation
	// finds something.
	urls once.Values[[]byte]
}

// Pack returns the Ignition document of n: JSON in one line, spec 3.4.0, equal bytes for equal
// nodes. Every file has its mode and replaces a file of the image at its path, and so does every
// link. A unit is only enabled or masked, and its content is one of the files. Started has no
// effect, because Ignition ends before systemd begins. n.Extra is merged as Ignition itself merges
// configs. With n.Remote the document refers to another config, which replaces it or is merged into
// it. Ignition accepts that config only with its SHA-512, and asks again until a server answers.
//
// If limit is positive and the document is longer than limit bytes, Pack returns a stub instead: a
// config that Ignition replaces by the compressed document inside it. The stub may still be longer
// than limit.
//
// It fails if Ignition's own validation finds anything, even a warning; if a string is not UTF-8;
// if a unit is masked and also enabled or among the files; and if n.Extra contradicts n about a
// path or unit, or replaces the whole config. Errors name the path, unit or user, never a content.
func (p *Packer) Pack(n *node.Node, limit int) ([]byte, error) {
	doc, err := p.plain(n)
	if err != nil || limit <= 0 || len(doc) <= limit {
		return doc, err
	}
	return document(stub(compress.Gzip(doc, n.Breaks()...)))
}

// plain returns the document of n, not compressed. Where a part of it is not valid, the whole is
// made and validated, for the error.
func (p *Packer) plain(n *node.Node) ([]byte, error) {
	files := n.Alike()
	frame := p.frames.Of(n.Shape(files), func() [][]byte { return newFrame(n, files) })
	if frame == nil {
		return whole(n, files, urlsOf(files))
	}
	parts := make([][]byte, 0, 2*len(frame))
	for i := range files {
		f := &files[i]
		url := p.urls.Of(f.Content, func() []byte { return contentURL(f.Content) })
		if url == nil {
			return whole(n, files, urlsOf(files))
		}
		parts = append(parts, frame[i], url)
	}
	return bytes.Join(append(parts, frame[len(files)]), nil), nil
}

// newFrame returns the document of n without the contents of its files: what comes before each of
// them, and behind the last. It returns nil if validation finds something, or if the user's config
// has a mark of its own.
func newFrame(n *node.Node, files []node.File) [][]byte {
	rest, err := whole(n, files, contentMark)
	if err != nil {
		return nil
	}
	var frame [][]byte
	for i := range files {
		before, after, ok := bytes.Cut(rest, []byte(contentMark(i)))
		if !ok || bytes.Contains(after, []byte(contentMark(i))) {
			return nil
		}
		frame, rest = append(frame, before), after
	}
	return append(frame, rest)
}

// validURL returns a URL as it stands in JSON without its quotes, nil if validation finds something
// in it.
func validURL(url string) []byte {
	r := types.Resource{Source: &url}
	doc, err := encode(url)
	if err != nil || len(r.Validate(path.New("json")).Entries) > 0 {
		return nil
	}
	return bytes.Trim(doc, `"`)
}

// urlsOf returns what returns the data URL of the i-th file.
func urlsOf(files []node.File) func(i int) string {
	return func(i int) string { return dataURL(files[i].Content) }
}

// whole returns the document of n, in which the contents of its files are what url returns.
func whole(n *node.Node, files []node.File, url func(i int) string) ([]byte, error) {
	if err := check(n); err != nil {
		return nil, err
	}
	cfg := config(n, files, url)
	if len(n.Extra) > 0 {
		extra, err := parse(n.Extra)
		if err == nil {
			err = checkMerge(extra, n)
		}
		if err != nil {
			return nil, fmt.Errorf("extra Ignition config: %w", err)
		}
		cfg = v3_4.Merge(cfg, extra)
	}
	if n.Remote != nil {
		refer(&cfg, n.Remote)
	}
	return document(cfg)
}

// config returns the config of n without n.Extra.
func config(n *node.Node, files []node.File, url func(i int) string) types.Config {
	cfg := empty()
	if len(n.AuthorizedKeys) > 0 {
		// The login user is first in the list, where Unpack looks for it.
		login := types.PasswdUser{Name: defaultLogin}
		if n.Login != "" {
			login.Name = n.Login
		}
		for _, k := range n.AuthorizedKeys {
			login.SSHAuthorizedKeys = append(login.SSHAuthorizedKeys, types.SSHAuthorizedKey(k))
		}
		cfg.Passwd.Users = append(cfg.Passwd.Users, login)
	}
	for _, u := range n.Users {
		cfg.Passwd.Groups = append(cfg.Passwd.Groups, systemGroup(u))
		cfg.Passwd.Users = append(cfg.Passwd.Users, systemUser(u))
	}
	for _, d := range n.Dirs {
		cfg.Storage.Directories = append(cfg.Storage.Directories, types.Directory{
			Node:               entry(d.Path, d.User, d.Group),
			DirectoryEmbedded1: types.DirectoryEmbedded1{Mode: util.IntToPtr(int(d.Mode))},
		})
	}
	for i := range files {
		f := &files[i]
		file := types.File{
			Node: entry(f.Path, f.User, f.Group),
			FileEmbedded1: types.FileEmbedded1{
				Mode:     util.IntToPtr(int(f.Mode)),
				Contents: types.Resource{Source: util.StrToPtr(url(i))},
			},
		}
		file.Overwrite = util.BoolToPtr(true)
		cfg.Storage.Files = append(cfg.Storage.Files, file)
	}
	for _, l := range n.Links {
		link := types.Link{
			Node:          entry(l.Path, "", ""),
			LinkEmbedded1: types.LinkEmbedded1{Target: util.StrToPtr(l.Target)},
		}
		link.Overwrite = util.BoolToPtr(true)
		cfg.Storage.Links = append(cfg.Storage.Links, link)
	}
	for _, u := range n.Units {
		unit := types.Unit{Name: u.Name}
		if u.Enabled {
			unit.Enabled = util.BoolToPtr(true)
		}
		if u.Masked {
			unit.Mask = util.BoolToPtr(true)
		}
		if u.Enabled || u.Masked {
			cfg.Systemd.Units = append(cfg.Systemd.Units, unit)
		}
	}
	return cfg
}

func empty() types.Config {
	return types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
}

func entry(path, user, group string) types.Node {
	e := types.Node{Path: path}
	e.User.Name, e.User.ID = owner(user)
	e.Group.Name, e.Group.ID = owner(group)
	return e
}

// owner returns a user or group for Ignition: a name, which it looks up on the machine, or a
// number; neither for root.
func owner(of string) (name *string, id *int) {
	if of == "" || of == node.Root {
		return nil, nil
	}
	if n, err := strconv.Atoi(of); err == nil && n >= 0 && strconv.Itoa(n) == of {
		return nil, &n
	}
	return &of, nil
}

func systemGroup(u node.User) types.PasswdGroup {
	return types.PasswdGroup{Name: u.Name, Gid: util.IntToPtr(u.ID), System: util.BoolToPtr(true)}
}

func systemUser(u node.User) types.PasswdUser {
	user := types.PasswdUser{
		Name:         u.Name,
		UID:          util.IntToPtr(u.ID),
		NoCreateHome: util.BoolToPtr(true),
		// Without it useradd would make the group itself, and fail because the group exists.
		PrimaryGroup: util.StrToPtr(u.Name),
		Shell:        util.StrToPtr(noLogin),
		System:       util.BoolToPtr(true),
	}
	if u.Home != "" {
		user.HomeDir = util.StrToPtr(u.Home)
	}
	return user
}

// refer makes cfg refer to the config at r.URL, which replaces cfg or is merged over it. Ignition
// fetches it with the CAs of cfg (ignition 2.24, internal/exec/engine.go), and sends no header with
// the request.
func refer(cfg *types.Config, r *node.Remote) {
	there := types.Resource{
		Source:       util.StrToPtr(r.URL),
		Verification: types.Verification{Hash: util.StrToPtr(sha512Prefix + r.SHA512)},
	}
	if r.Whole {
		cfg.Ignition.Config.Replace = there
	} else {
		cfg.Ignition.Config.Merge = []types.Resource{there}
	}
	if len(r.CA) > 0 {
		cfg.Ignition.Security.TLS.CertificateAuthorities = []types.Resource{
			{Source: util.StrToPtr(dataURL(r.CA))}}
	}
}

// sha512Prefix comes before a hash.
const sha512Prefix = "sha512-"

// stub returns a config that Ignition replaces by the compressed document inside it. It has no
// hash: gzip's own checksum shows damage.
func stub(zipped []byte) types.Config {
	cfg := empty()
	cfg.Ignition.Config.Replace = types.Resource{
		Source:      util.StrToPtr(base64URL + base64.StdEncoding.EncodeToString(zipped)),
		Compression: util.StrToPtr("gzip"),
	}
	return cfg
}

// document returns cfg as JSON in which Ignition's validation finds nothing. The checks are those
// of v3_4.Parse, run on cfg instead of on the JSON. That is twice as fast; Parse would only look
// for unknown keys too, which cfg cannot have. Unpack, and so every test, parses the JSON.
func document(cfg types.Config) ([]byte, error) {
	if err := verdict(cfg, validate.ValidateWithContext(cfg, nil), nil); err != nil {
		return nil, err
	}
	return encode(cfg)
}

// encode returns a config, or a part of one, as JSON in one line, without empty structs and without
// escapes that only HTML needs.
func encode(part any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(part); err != nil {
		return nil, fmt.Errorf("encode the Ignition config: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// parse returns the config in doc, of spec 3.0.0 to 3.4.0, as a config of spec 3.4.0.
func parse(doc []byte) (types.Config, error) {
	cfg, r, err := v3_4.ParseCompatibleVersion(doc)
	return cfg, verdict(cfg, r, err)
}

// verdict returns one error with every finding of Ignition's validation in cfg, warnings included.
func verdict(cfg types.Config, r report.Report, err error) error {
	var all []error
	for _, e := range r.Entries {
		at := subject(cfg, e.Context.Path, e.Context.String())
		all = append(all, fmt.Errorf("%s: %s", at, e.Message))
	}
	if len(all) > 0 {
		return errors.Join(all...)
	}
	return err
}

// subject returns the path, unit or user in cfg at the place at, or where if there is none.
func subject(cfg types.Config, at []any, where string) string {
	if len(at) < 3 {
		return where
	}
	i, ok := at[2].(int)
	if !ok {
		return where
	}
	name := ""
	switch list := fmt.Sprint(at[0], ".", at[1]); {
	case list == "storage.files" && i < len(cfg.Storage.Files):
		name = cfg.Storage.Files[i].Path
	case list == "storage.directories" && i < len(cfg.Storage.Directories):
		name = cfg.Storage.Directories[i].Path
	case list == "storage.links" && i < len(cfg.Storage.Links):
		name = cfg.Storage.Links[i].Path
	case list == "systemd.units" && i < len(cfg.Systemd.Units):
		name = cfg.Systemd.Units[i].Name
	case list == "passwd.users" && i < len(cfg.Passwd.Users):
		name = "user " + cfg.Passwd.Users[i].Name
	case list == "passwd.groups" && i < len(cfg.Passwd.Groups):
		name = "group " + cfg.Passwd.Groups[i].Name
	}
	if name == "" {
		return where
	}
	return fmt.Sprintf("%s (%s)", name, where)
}

// check finds mistakes that Ignition's validation does not: strings that JSON would change, and
// contradictions about a unit.
func check(n *node.Node) error {
	var all []error
	text := func(what string, values ...string) {
		for _, v := range values {
			if !utf8.ValidString(v) || strings.Contains(v, "\x00") {
				all = append(all, fmt.Errorf("%s %q: not text", what, v))
			}
		}
	}
	if len(n.CloudConfig) > 0 {
		all = append(all, errors.New("keys of cloud-init's user-data: Ignition has no counterpart"))
	}
	text("login", n.Login)
	text("ssh key", n.AuthorizedKeys...)
	for _, u := range n.Users {
		text("user", u.Name, u.Home)
	}
	for _, d := range n.Dirs {
		text("directory", d.Path, d.User, d.Group)
	}
	for _, f := range n.Files {
		text("file", f.Path, f.User, f.Group)
	}
	for _, l := range n.Links {
		text("link", l.Path, l.Target)
	}
	for _, u := range n.Units {
		text("unit", u.Name)
		if !u.Masked {
			continue
		}
		if u.Enabled || u.Started {
			all = append(all, fmt.Errorf("unit %s: masked, and to be started too", u.Name))
		}
		if n.File(unitDir+u.Name) != nil {
			all = append(all, fmt.Errorf("unit %s: masked, but its text is among the files",
				u.Name))
		}
	}
	return errors.Join(all...)
}

// checkMerge fails if extra would silently undo something of n.
func checkMerge(extra types.Config, n *node.Node) error {
	var all []error
	if extra.Ignition.Config.Replace.Source != nil {
		all = append(all, errReplace)
	}
	taken := make(map[string]bool)
	for _, d := range n.Dirs {
		taken[d.Path] = true
	}
	for _, l := range n.Links {
		taken[l.Path] = true
	}
	clash := func(path string) {
		if taken[path] {
			all = append(all, fmt.Errorf("%s: this path is also one of the machine's own", path))
		}
	}
	for _, f := range extra.Storage.Files {
		own := n.File(f.Path) != nil
		if own && (f.Contents.Source != nil || f.Mode != nil || f.Overwrite != nil ||
			f.User != (types.NodeUser{}) || f.Group != (types.NodeGroup{})) {
			all = append(all, fmt.Errorf("%s: this file is also one of the machine's own, "+
				"to which can only be appended", f.Path))
		}
		clash(f.Path)
	}
	for _, f := range n.Files {
		taken[f.Path] = true
	}
	for _, d := range extra.Storage.Directories {
		clash(d.Path)
	}
	for _, l := range extra.Storage.Links {
		clash(l.Path)
	}
	state := make(map[string]node.Unit)
	for _, u := range n.Units {
		state[u.Name] = u
	}
	for _, u := range extra.Systemd.Units {
		own := state[u.Name]
		if own.Enabled && u.Enabled != nil || own.Masked && u.Mask != nil {
			all = append(all,
				fmt.Errorf("unit %s: its state is also set by the machine's own units", u.Name))
		}
	}
	return errors.Join(all...)
}

var errReplace = errors.New(
	"ignition.config.replace would discard the machine's whole config; use merge")
