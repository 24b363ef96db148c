// Package vault keeps a bundle where it is stored: it finds the bundle of a configuration, or the
// half of it that is no secret, encrypts it with age, makes the bundle of a new cluster, and keeps
// secrets out of git and of review twins.
package vault

import (
	"fmt"
	"io"
	"os"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
)

// Source is what the command line says about the bundle of a configuration. Without flags, the
// bundle or its public half lies beside the configuration. An encrypted bundle has Sealed behind
// its name there. Its content, not its name, shows whether a bundle is encrypted.
type Source struct {
	Secrets string    // --secrets: the bundle's file, or - for Stdin
	Public  string    // --public: the file of the public half
	Stdin   io.Reader // the reader that --secrets - stands for
	// Keys open an encrypted bundle. Without them nobody is asked, and no program runs: an
	// encrypted bundle is an error.
	Keys *Keys
	// NewRecipients are those of --new-recipient, which the bundle may get.
	NewRecipients []string

	read *pki.Bundle // the bundle of --secrets, once it has been read: a pipe can be read once only
}

// Path returns the file of the bundle: the one that --secrets names, or the one beside the
// configuration.
func (s *Source) Path(config, cluster string) string {
	if s.Secrets != "" {
		return s.Secrets
	}
	path := render.BundlePath(config, cluster)
	if term.AbsentPath(path) && !term.AbsentPath(path+Sealed) {
		path += Sealed
	}
	return path
}

// Half returns the public half of a configuration's bundle, and the file of the bundle that holds
// it. The path is empty if the half was read from a file of its own: if there is no bundle, or if
// the bundle is encrypted and no identity is given. Half fails if neither the bundle nor its public
// half exists.
func (s *Source) Half(config, cluster string) (half *pki.Public, path string, err error) {
	path, stored := s.Path(config, cluster), render.PublicPath(config, cluster)
	switch {
	case s.Secrets != "":
	case s.Public != "":
		half, err = render.Public(s.Public)
		return half, "", err
	case term.AbsentPath(path) && term.AbsentPath(stored):
		return nil, "", fmt.Errorf("neither %s nor its public half %s is there; %s; "+
			"kiln secrets public writes its public half", path, stored, term.NoBundle)
	case term.AbsentPath(path), s.prefersHalf(path, stored):
		half, err = render.Public(stored)
		return half, "", err
	}
	b, err := s.Bundle(config, cluster)
	if err != nil {
		return nil, "", err
	}
	return &b.Public, path, nil
}

// prefersHalf reports whether the public half in the file stored is to be read instead of the
// bundle in the file path, because nobody has to open that one for it.
func (s *Source) prefersHalf(path, stored string) bool {
	if s.Keys.Given() || term.AbsentPath(stored) {
		return false
	}
	data, err := folder.Read(path, maxFile)
	return err == nil && IsEncrypted(data)
}

// PlainFile returns the file of a configuration's bundle if it is there and not encrypted; empty if
// not.
func (s *Source) PlainFile(config, cluster string) string {
	path := s.Path(config, cluster)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if data, err := folder.Read(path, maxFile); err != nil || IsEncrypted(data) {
		return ""
	}
	return path
}

// Bundle returns the bundle of a configuration. The error wraps fs.ErrNotExist if there is none.
func (s *Source) Bundle(config, cluster string) (*pki.Bundle, error) {
	if s.read != nil {
		return s.read, nil
	}
	r, err := s.stored(s.Path(config, cluster))
	if err != nil {
		return nil, err
	}
	f, err := s.open(r)
	if err != nil {
		return nil, err
	}
	if s.Secrets != "" {
		s.read = f.Bundle
	}
	return f.Bundle, nil
}

// HasBundle reports whether Bundle is to be used, rather than Half: --secrets names the bundle, or
// the bundle lies beside the configuration, --public does not name a half, and an identity is given
// if the bundle needs one and its half is there.
func (s *Source) HasBundle(config, cluster string) bool {
	path := s.Path(config, cluster)
	return s.Public == "" && (s.Secrets != "" ||
		!term.AbsentPath(path) && !s.prefersHalf(path, render.PublicPath(config, cluster)))
}
