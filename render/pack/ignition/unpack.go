package ignition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_4/types"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/pack/compress"
)

// Unpacker unpacks the documents of a cluster, and does once what they have in common. The zero
// value is ready. Its methods may be called from several goroutines. The nodes share contents:
// nobody may change them.
type Unpacker struct {
	// configs holds documents without the contents of their files, by their texts.
	configs once.Values[parsed]
	// decoded holds what the data URLs of contents hold. There is none where validation finds
	// something.
	decoded once.Values[*[]byte]
}

// parsed is a config, or what is wrong with it.
type parsed struct {
	config types.Config
	err    error
}

// Unpack returns the machine that doc, a config or a stub made by Pack, describes: for every n
// without Extra, Unpack(Pack(n)) is n.Delivered(). Name is the content of /etc/hostname without its
// newline, or empty; Login is empty if the keys are for the image's default user. Extra holds what
// has no place in a node (disks, remote files, …), as JSON in the order of Ignition's schema; keys
// that Extra gave to the login user are in AuthorizedKeys. Remote is set if the config refers to a
// body as Pack writes it; Unpack does not look for the body.
//
// It fails if Ignition's validation finds anything in doc or in the config inside it. It also fails
// if a stub's content is missing, does not decompress, is larger than 64 MiB, has another hash, or
// is a stub again.
func (u *Unpacker) Unpack(doc []byte) (node.Node, error) {
	cfg, err := u.parse(doc)
	if err != nil {
		return node.Node{}, err
	}
	if outer := cfg.Ignition.Config.Replace; outer.Source != nil && remote(&cfg) == nil {
		inner, err := innerConfig(outer)
		if err == nil {
			cfg, err = u.parse(inner)
		}
		if err == nil && cfg.Ignition.Config.Replace.Source != nil && remote(&cfg) == nil {
			err = errors.New("it is replaced once more")
		}
		if err != nil {
			return node.Node{}, fmt.Errorf("config inside the stub: %w", err)
		}
	}
	var n node.Node
	if n.Remote = remote(&cfg); n.Remote != nil {
		cfg.Ignition = empty().Ignition
	}
	cfg.Passwd = takePasswd(cfg.Passwd, &n)
	if err := take(&cfg, &n, u.content); err != nil {
		return node.Node{}, err
	}
	return n.Delivered(), nil
}

// parse returns the config in a document. Where a part of it is not valid, the whole is parsed, for
// the error.
func (u *Unpacker) parse(doc []byte) (types.Config, error) {
	if bytes.Contains(doc, []byte(markWord)) || bytes.Contains(doc, []byte(`\u`)) {
		return parseBounded(doc) // it may have a mark of its own, also with escapes
	}
	rest, urls := cutContents(doc)
	shared := u.configs.Of(rest, func() parsed {
		cfg, err := parseBounded(rest)
		return parsed{cfg, err}
	})
	switch {
	case len(urls) == 0:
		return shared.config, shared.err
	case shared.err != nil:
		return parseBounded(doc)
	}
	cfg := shared.config
	cfg.Storage.Files = slices.Clone(cfg.Storage.Files)
	next := 0
	for i := range cfg.Storage.Files {
		source := &cfg.Storage.Files[i].Contents.Source
		if *source != nil && next < len(urls) && **source == contentMark(next) {
			if u.decode(urls[next]) == nil {
				return parseBounded(doc)
			}
			*source = util.StrToPtr(string(urls[next]))
			next++
		}
	}
	if next < len(urls) {
		return parseBounded(doc)
	}
	return cfg, nil
}

// contentsKey comes before the data URL of a file's content. In a string of JSON its quotes would
// have backslashes, and nothing but a file has such a key.
const contentsKey = `"contents":{"source":"`

// markWord is in the marks that stand for contents, and in no document of kiln's.
const markWord = "kiln-content-"

func contentMark(i int) string { return fmt.Sprintf("data:,%s%d.", markWord, i) }

// cutContents returns a document with marks in the places of the data URLs of contents, and these.
func cutContents(doc []byte) (rest []byte, urls [][]byte) {
	key := []byte(contentsKey)
	for {
		before, after, ok := bytes.Cut(doc, key)
		rest = append(rest, before...)
		if !ok {
			return rest, urls
		}
		rest = append(rest, key...)
		end := bytes.IndexAny(after, `"\\`)
		if end >= 0 && after[end] == '"' && bytes.HasPrefix(after, []byte("data:")) {
			rest = append(rest, contentMark(len(urls))...)
			urls, after = append(urls, after[:end]), after[end:]
		}
		doc = after
	}
}

// decode returns the content of a data URL that stands in a document, nil if it is not valid.
func (u *Unpacker) decode(url []byte) *[]byte {
	return u.decoded.Of(url, func() *[]byte {
		content, err := urlContent(string(url))
		if validURL(string(url)) == nil || err != nil {
			return nil
		}
		return &content
	})
}

// content returns the content of a data URL.
func (u *Unpacker) content(url string) ([]byte, error) {
	if content := u.decode([]byte(url)); content != nil {
		return *content, nil
	}
	return urlContent(url)
}

// remote returns the body that a config refers to, as refer writes it. It returns nil if there is
// none, or if the config says more about other configs, CAs or how they are fetched than refer
// does.
func remote(cfg *types.Config) *node.Remote {
	var r node.Remote
	var there types.Resource
	switch i := &cfg.Ignition.Config; {
	case i.Replace.Source != nil && len(i.Merge) == 0:
		there, r.Whole = i.Replace, true
	case i.Replace.Source == nil && len(i.Merge) == 1:
		there = i.Merge[0]
	default:
		return nil
	}
	if there.Source == nil || there.Verification.Hash == nil {
		return nil
	}
	var found bool
	if r.SHA512, found = strings.CutPrefix(*there.Verification.Hash, sha512Prefix); !found ||
		isDataURL(there.Source) {
		return nil
	}
	r.URL = *there.Source
	if cas := cfg.Ignition.Security.TLS.CertificateAuthorities; len(cas) == 1 &&
		isDataURL(cas[0].Source) {
		r.CA, _ = urlContent(*cas[0].Source) // kiln's own CAs are data URLs
	}
	again := empty()
	refer(&again, &r)
	if !reflect.DeepEqual(again.Ignition, cfg.Ignition) {
		return nil
	}
	return &r
}

// maxValues is the largest number of values in a config. Parsing and validation take some kilobytes
// for each value, so that a config of commas would take thousands of times its size. The config of
// a control plane has a thousand values.
const maxValues = 1 << 16

// parseBounded is parse for a config from anybody: it refuses too many values.
func parseBounded(doc []byte) (types.Config, error) {
	if values(doc) > maxValues {
		return types.Config{}, fmt.Errorf("the config has more than %d values", maxValues)
	}
	return parse(doc)
}

// values returns an upper bound of the number of values in a JSON document: each begins after one
// of these characters, outside of strings.
func values(doc []byte) (n int) {
	text := false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case !text && (c == ',' || c == ':' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// innerConfig returns the config inside a stub, decompressed and verified.
func innerConfig(r types.Resource) ([]byte, error) {
	if !isDataURL(r.Source) {
		return nil, errors.New("it is elsewhere, not in this document")
	}
	doc, err := urlContent(*r.Source)
	if err != nil {
		return nil, err
	}
	if util.NotEmpty(r.Compression) {
		if doc, err = compress.Gunzip(doc); err != nil {
			return nil, err
		}
	}
	if len(doc) > compress.MaxDocument {
		return nil, fmt.Errorf("it is larger than %d bytes", compress.MaxDocument)
	}
	if hash := r.Verification.Hash; hash != nil {
		sum := sha256.Sum256(doc)
		if want := "sha256-" + hex.EncodeToString(sum[:]); *hash != want {
			return nil, fmt.Errorf("its hash is %s, not %s", want, *hash)
		}
	}
	return doc, nil
}

// takePasswd moves the login user's keys and the system users from p to n, and returns the rest.
// Only the first user can be the login user, because Pack puts it there.
func takePasswd(p types.Passwd, n *node.Node) types.Passwd {
	var rest types.Passwd
	groups := make(map[string]types.PasswdGroup, len(p.Groups))
	for _, g := range p.Groups {
		groups[g.Name] = g
	}
	taken := make(map[string]bool)
	for i, u := range p.Users {
		if i == 0 && len(u.SSHAuthorizedKeys) > 0 {
			if u.Name != defaultLogin {
				n.Login = u.Name
			}
			for _, k := range u.SSHAuthorizedKeys {
				n.AuthorizedKeys = append(n.AuthorizedKeys, string(k))
			}
			u.SSHAuthorizedKeys = nil
			if reflect.DeepEqual(u, types.PasswdUser{Name: u.Name}) {
				continue
			}
		}
		if u.UID != nil {
			own := node.User{Name: u.Name, ID: *u.UID}
			if u.HomeDir != nil {
				own.Home = *u.HomeDir
			}
			if reflect.DeepEqual(u, systemUser(own)) &&
				reflect.DeepEqual(groups[u.Name], systemGroup(own)) {
				n.Users = append(n.Users, own)
				taken[u.Name] = true
				continue
			}
		}
		rest.Users = append(rest.Users, u)
	}
	for _, g := range p.Groups {
		if !taken[g.Name] {
			rest.Groups = append(rest.Groups, g)
		}
	}
	return rest
}

// take moves every file, directory, link and unit that a node can express from cfg to n, and the
// rest to n.Extra.
func take(cfg *types.Config, n *node.Node, content func(url string) ([]byte, error)) error {
	s := &cfg.Storage
	files, dirs, links := s.Files, s.Directories, s.Links
	s.Files, s.Directories, s.Links = nil, nil, nil
	for _, f := range files {
		rest, err := takeFile(f, n, content)
		if err != nil {
			return fmt.Errorf("file %s: %w", f.Path, err)
		}
		if rest != nil {
			s.Files = append(s.Files, *rest)
		}
	}
	for _, d := range dirs {
		if util.IsTrue(d.Overwrite) || !plainMode(d.Mode) {
			s.Directories = append(s.Directories, d)
			continue
		}
		n.Dirs = append(n.Dirs, node.Dir{Path: d.Path, Mode: mode(d.Mode, 0o755),
			User: ownerName(d.User.Name, d.User.ID), Group: ownerName(d.Group.Name, d.Group.ID)})
	}
	for _, l := range links {
		if util.IsTrue(l.Hard) || l.Target == nil || l.User != (types.NodeUser{}) ||
			l.Group != (types.NodeGroup{}) {
			s.Links = append(s.Links, l)
			continue
		}
		n.Links = append(n.Links, node.Link{Path: l.Path, Target: *l.Target})
	}
	units := cfg.Systemd.Units
	cfg.Systemd.Units = nil
	for _, u := range units {
		if rest := takeUnit(u, n); rest != nil {
			cfg.Systemd.Units = append(cfg.Systemd.Units, *rest)
		}
	}
	if !reflect.DeepEqual(*cfg, empty()) {
		extra, err := encode(*cfg)
		if err != nil {
			return err
		}
		n.Extra = json.RawMessage(extra)
	}
	return nil
}

// takeFile moves the file that f creates to n, and returns the rest of f: nothing, the parts that
// it appends, or all of f if a node cannot have the file.
func takeFile(
	f types.File, n *node.Node, contentOf func(url string) ([]byte, error),
) (*types.File, error) {
	c := f.Contents
	if !isDataURL(c.Source) || util.NotEmpty(c.Compression) || c.Verification.Hash != nil ||
		!plainMode(f.Mode) {
		return &f, nil
	}
	content, err := contentOf(*c.Source)
	if err != nil {
		return nil, err
	}
	n.Files = append(n.Files, node.File{Path: f.Path, Mode: mode(f.Mode, 0o644),
		User: ownerName(f.User.Name, f.User.ID), Group: ownerName(f.Group.Name, f.Group.ID),
		Content: content})
	if len(f.Append) == 0 {
		return nil, nil
	}
	return &types.File{Node: types.Node{Path: f.Path},
		FileEmbedded1: types.FileEmbedded1{Append: f.Append}}, nil
}

// takeUnit moves the unit's content, its drop-ins and what it switches on to n. It returns what it
// switches off, which Ignition can express and a node cannot.
func takeUnit(u types.Unit, n *node.Node) *types.Unit {
	if util.NotEmpty(u.Contents) {
		n.Files = append(n.Files, node.File{Path: unitDir + u.Name, Mode: 0o644,
			Content: []byte(*u.Contents)})
	}
	for _, d := range u.Dropins {
		if util.NotEmpty(d.Contents) {
			n.Files = append(n.Files, node.File{Path: unitDir + u.Name + ".d/" + d.Name,
				Mode: 0o644, Content: []byte(*d.Contents)})
		}
	}
	own := node.Unit{Name: u.Name, Enabled: util.IsTrue(u.Enabled), Masked: util.IsTrue(u.Mask)}
	if own.Enabled || own.Masked {
		n.Units = append(n.Units, own)
	}
	rest := types.Unit{Name: u.Name}
	if util.IsFalse(u.Enabled) {
		rest.Enabled = u.Enabled
	}
	if util.IsFalse(u.Mask) {
		rest.Mask = u.Mask
	}
	if rest.Enabled == nil && rest.Mask == nil {
		return nil
	}
	return &rest
}

// ownerName is the inverse of owner.
func ownerName(name *string, id *int) string {
	if id != nil {
		return strconv.Itoa(*id)
	}
	if name != nil {
		return *name
	}
	return ""
}

// plainMode reports whether m consists of permission bits.
func plainMode(m *int) bool {
	return m == nil || *m >= 0 && *m <= 0o777
}

func mode(m *int, otherwise uint32) uint32 {
	if m == nil {
		return otherwise
	}
	return uint32(*m) // the caller has checked it with plainMode
}
