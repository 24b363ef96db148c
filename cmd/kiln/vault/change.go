package vault

import (
	"errors"
	"fmt"
	"io/fs"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
)

// missingError comes when a verb needs a bundle, and there is none in the file path.
type missingError struct{ path string }

func (e *missingError) Error() string {
	return e.path + ": there is no bundle; " + term.NoBundle
}

// Is reports whether the target is fs.ErrNotExist.
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

// OpenFor returns the bundle of a configuration. It fails if it is the bundle of another cluster,
// or older than the public half beside the configuration.
func (s *Source) OpenFor(path string, c *config.Cluster) (*File, error) {
	name := s.Path(path, c.Metadata.Name)
	r, err := s.stored(name)
	if s.Secrets == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{name}
	}
	if err != nil {
		return nil, err
	}
	f, err := s.open(r)
	if err != nil {
		return nil, err
	}
	f.configured(s, path, c)
	if f.Name != c.Metadata.Name {
		return nil, fmt.Errorf("%s: this is the bundle of cluster %s, and the configuration "+
			"describes %s; name the bundle of %[3]s with --secrets", f.Path, f.Name,
			c.Metadata.Name)
	}
	return f, CheckNewest(render.PublicPath(path, c.Metadata.Name), f.Path, &f.Public)
}

// ToChange is OpenFor for a verb that changes the bundle. It fails if the bundle cannot be written
// back.
func (s *Source) ToChange(path string, c *config.Cluster, verb string) (*File, error) {
	f, err := s.OpenFor(path, c)
	if err == nil {
		err = f.checkChange(verb)
	}
	return f, err
}

// Read returns the bundle that --secrets names.
func (s *Source) Read() (*File, error) {
	r, err := s.stored(s.Secrets)
	if err != nil {
		return nil, err
	}
	return s.open(r)
}

// ReadToChange is Read for a verb that changes the bundle. It fails if the bundle cannot be written
// back.
func (s *Source) ReadToChange(verb string) (*File, error) {
	f, err := s.Read()
	if err == nil {
		err = f.checkChange(verb)
	}
	return f, err
}

// checkChange returns an error if the bundle came through a pipe, or if it is encrypted and nobody
// knows to whom.
func (f *File) checkChange(verb string) error {
	if f.Piped {
		return fmt.Errorf("--secrets %s: %s changes the bundle, and a bundle from a pipe "+
			"cannot be written back; name the bundle's file", f.Path, verb)
	}
	return f.checkLock()
}

// CheckForms returns an error if the cluster runs, as far as the bundle shows: a later formation
// deadline would do nothing, or let its machines form it a second time.
func (f *File) CheckForms() error {
	again := "render makes a new one"
	if len(f.External.Roots) > 0 {
		again = "kiln secrets import makes a new one, with the CAs whose keys are elsewhere"
	}
	switch {
	case f.WasImported():
		return fmt.Errorf("%s: its cluster ran before it had this bundle, and its machines never "+
			"form etcd, whatever the deadline; --install-only moves the other date", f.Path)
	case f.HasRun():
		return fmt.Errorf("%s: its cluster runs: something of it was renewed, rotated or "+
			"restored; it could form again, empty. --install-only moves the other date; for a "+
			"cluster that never ran, move this bundle away, and %s", f.Path, again)
	}
	return nil
}
