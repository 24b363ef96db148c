package vault

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
)

// ToEncrypt is OpenFor for the verb that encrypts the bundle in its place. It fails if there is no
// bundle, if it came through a pipe, or if a recipient of the configuration is new to it, and the
// command line does not name that.
func (s *Source) ToEncrypt(path string, c *config.Cluster) (*File, error) {
	if name := s.Path(path, c.Metadata.Name); name != "-" && term.AbsentPath(name) {
		return nil, &missingError{name}
	}
	f, err := s.OpenFor(path, c)
	if err == nil && f.Piped {
		err = fmt.Errorf("--secrets %s: a bundle from a pipe cannot be replaced; "+
			"name the bundle's file", f.Path)
	}
	if err == nil {
		err = s.checkConsent(f, f.Path, path, c)
	}
	return f, err
}

// Encrypt encrypts the bundle to recipients, in the place of its file: at every moment there is one
// whole file. A file that has the name of a plain bundle is then renamed, and Path with it. Encrypt
// reports whether it changed anything.
func (f *File) Encrypt(recipients []string) (bool, error) {
	plain, encrypted := !f.Sealed, f.Path+Sealed
	rename := strings.HasSuffix(f.Path, render.BundleEnd)
	if rename && !term.AbsentPath(encrypted) {
		return false, fmt.Errorf("%s: is there already; move it away", encrypted)
	}
	changes := plain || f.lock.ByPassphrase() || len(differences(f.Recipients, recipients)) > 0
	if changes {
		f.Recipients, f.Sealed = recipients, true
		f.lock = &Lock{Recipients: recipients}
		if err := f.Replace(); err != nil {
			return false, err
		}
	}
	if !rename {
		folder.Tidy(f.Path)
		return changes, nil
	}
	renamed, err := folder.Rename(f.Path, encrypted)
	if err != nil {
		return false, fmt.Errorf("%w; it is encrypted, and a second run names it %s",
			err, encrypted)
	}
	if renamed {
		f.Path = encrypted
	}
	return changes || renamed, nil
}
