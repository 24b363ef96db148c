// This file holds the form in which programs get an unpacked machine, as JSON.

package review

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"kiln.dev/kiln/render/facts/node"
)

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

// UnpackedBody is the place of a body and its hash.
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
	// Secret reports whether the content is a secret, or may be one.
	Secret bool `json:"secret,omitempty"`
	// Certificates has a line for each certificate in the content.
	Certificates []string `json:"certificates,omitempty"`
	// Content is the file's text, or its bytes in base64 if Encoding says so. It is absent unless
	// it was asked for and may be shown.
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

// Machine returns everything that List lists.
func (u *Unpacked) Machine() *UnpackedMachine {
	n := u.node
	m := &UnpackedMachine{
		Name:           u.name(),
		Users:          []UnpackedUser{},
		Directories:    []UnpackedFile{},
		Files:          []UnpackedFile{},
		Links:          []UnpackedLink{},
		Units:          []UnpackedUnit{},
		Login:          n.Login,
		AuthorizedKeys: []string{},
		NetworkConfig:  string(u.settings(n.NetworkConfig)),
		MetaData:       string(u.settings(u.metaData)),
		Ignition:       u.settings(n.Extra),
		CloudConfig:    u.settings(n.CloudConfig),
		Fetches:        u.Missing(),
	}
	for _, key := range n.AuthorizedKeys {
		m.AuthorizedKeys = append(m.AuthorizedKeys, u.text(key))
	}
	for _, user := range n.Users {
		m.Users = append(m.Users, UnpackedUser(user))
	}
	for _, d := range n.Dirs {
		m.Directories = append(m.Directories, UnpackedFile{
			Path: d.Path, Mode: octal(d.Mode), Owner: d.User + ":" + d.Group,
		})
	}
	for i := range n.Files {
		m.Files = append(m.Files, unpackedFile(&n.Files[i]))
	}
	for _, l := range n.Links {
		m.Links = append(m.Links, UnpackedLink{l.Path, u.text(l.Target)})
	}
	for _, unit := range n.Units {
		m.Units = append(m.Units, UnpackedUnit{unit.Name, unit.Enabled, unit.Masked})
	}
	return m
}

// Files returns the files at paths with their contents. It fails if a file is missing.
func (u *Unpacked) Files(paths []string) ([]UnpackedFile, error) {
	files, err := u.find(paths)
	out := []UnpackedFile{}
	for _, f := range files {
		file := unpackedFile(f)
		if u.showSecrets || !file.Secret {
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

// unpackedFile returns a file without its content.
func unpackedFile(f *node.File) UnpackedFile {
	return UnpackedFile{
		Path:         f.Path,
		Mode:         octal(f.Mode),
		Owner:        f.User + ":" + f.Group,
		Secret:       f.Secret != "",
		Certificates: certificateLines(f.Content),
	}
}
