package bundle

import (
	"fmt"

	"kiln/pki"
	"kiln/render"
	"kiln/render/config"
)

// OpenFor returns the bundle of a configuration. It fails if it is the bundle of another cluster,
// or older than the public half beside the configuration.
func (s *Source) OpenFor(path string, c *config.Cluster) (*File, error) {
	f := &File{Path: s.Path(path, c.Metadata.Name)}
	stored, err := true, error(nil)
	if s.Secrets == "" {
		f.Bundle, err = render.Bundle(f.Path)
	} else {
		f.Bundle, stored, err = render.GivenBundle(f.Path, s.Stdin)
	}
	if err != nil {
		return nil, err
	}
	f.Piped = !stored
	if err := checkName(f.Path, f.Bundle, c); err != nil {
		return nil, err
	}
	return f, CheckNewest(render.PublicPath(path, c.Metadata.Name), f.Path, &f.Public)
}

// ToChange is OpenFor for a verb that changes the bundle. It fails if the bundle cannot be written
// back.
func (s *Source) ToChange(path string, c *config.Cluster, verb string) (*File, error) {
	f, err := s.OpenFor(path, c)
	if err == nil && f.Piped {
		err = fmt.Errorf("--secrets %s: %s changes the bundle, and a bundle from a pipe "+
			"cannot be written back; name the bundle's file", f.Path, verb)
	}
	return f, err
}

// checkName returns an error if the bundle in the file path is not that of the cluster.
func checkName(path string, b *pki.Bundle, c *config.Cluster) error {
	if b.Name == c.Metadata.Name {
		return nil
	}
	return fmt.Errorf("%s: this is the bundle of cluster %s, and the configuration describes %s; "+
		"name the bundle of %[3]s with --secrets", path, b.Name, c.Metadata.Name)
}

// Replace writes the bundle over the file that it was read from. The old version stays whole until
// the new one is on disk.
func (f *File) Replace() error { return render.ReplaceBundle(f.Path, f.Bundle) }
