package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/wording"
)

// Run is the part of a run of kiln render that decides about its bundle.
type Run struct {
	Source
	Config  string // --config
	Out     string // --out
	Review  string // --review
	Restore string // --restore
}

// Open reads the bundle. If there is none, Open makes the bundle of a new cluster, in memory, and
// encrypted if the configuration has recipients. It fails if there is no bundle although something
// shows that the cluster exists already.
func (r *Run) Open(c *config.Cluster) (*File, error) {
	path := r.Path(r.Config, c.Metadata.Name)
	stored, err := r.stored(path)
	switch {
	case err == nil:
		f, err := r.open(stored)
		if err != nil {
			return nil, err
		}
		f.configured(&r.Source, r.Config, c)
		return f, f.checkStored(&r.Source, c)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return r.begin(path, c, pki.Given{})
}

// Import makes a bundle from the roots of a cluster that runs, or of a company, in memory. It fails
// if there is a bundle, or if something shows that the cluster has one.
func (r *Run) Import(c *config.Cluster, given pki.Given) (*File, error) {
	path := r.Path(r.Config, c.Metadata.Name)
	if !term.AbsentPath(path) {
		return nil, fmt.Errorf("%s: is there already, and a bundle is never replaced; "+
			"move it away if it is not this cluster's", path)
	}
	return r.begin(path, c, given)
}

// begin makes the bundle of a new cluster for the file path.
func (r *Run) begin(path string, c *config.Cluster, given pki.Given) (f *File, err error) {
	recipients := c.Spec.Secrets.Recipients
	if len(recipients) > 0 && r.Secrets == "" {
		path += Sealed
	}
	if err := r.mayBegin(path, c.Metadata.Name); err != nil {
		return nil, err
	}
	if err := r.checkConsent(nil, path, r.Config, c); err != nil {
		return nil, err
	}
	f = &File{
		Path: path, New: true, Sealed: len(recipients) > 0,
		lock: &Lock{Recipients: recipients},
	}
	algorithm := private.Algorithm(c.Spec.Certificates.KeyAlgorithm)
	if f.Bundle, err = pki.New(options(c, algorithm, given)); err != nil {
		return nil, err
	}
	f.Recipients = recipients
	return f, nil
}

// Blame returns an error of rendering with the bundle's file in front, unless the error is about
// the configuration.
func (f *File) Blame(err error) error {
	var problems config.Problems
	if errors.As(err, &problems) {
		return err
	}
	return wording.PrefixErrors(f.Path, err)
}

// Make returns a new bundle for the cluster of a configuration, with new keys, and writes no file.
func Make(c *config.Cluster, algorithm private.Algorithm) (*pki.Bundle, error) {
	return pki.New(options(c, algorithm, pki.Given{}))
}

// options returns what a new bundle takes from a configuration and from files.
func options(c *config.Cluster, algorithm private.Algorithm, given pki.Given) pki.Options {
	return pki.Options{
		Name: c.Metadata.Name, Now: time.Now(), Algorithm: algorithm, Given: given,
		CALifetime:      time.Duration(c.Spec.Certificates.CALifetime),
		FormationWindow: time.Duration(c.Spec.Boot.FormationWindow),
	}
}

// mayBegin returns an error if something shows that the cluster exists already, so that a new
// bundle at path would be another cluster. It also fails if the bundle could not be written there.
func (r *Run) mayBegin(path, name string) error {
	before, err := render.ReadInventory(r.Out)
	if err != nil {
		return err
	}
	switch {
	case before == nil:
	case before.Name != name:
		return fmt.Errorf("%s holds the documents of %s, and the configuration describes %s, "+
			"which has no bundle: no cluster can change its name. Write metadata.name: %[2]s, "+
			"or name another folder for a new cluster with --out", r.Out, before.Name, name)
	default:
		return LostBundle(r.Out+" holds the documents of "+name+", and its bundle", path)
	}
	if r.Restore != "" {
		return fmt.Errorf("--restore: there is no bundle %s: the content of a snapshot is "+
			"encrypted and signed with the keys in the bundle of its own cluster", path)
	}
	for _, there := range []struct{ what, path string }{
		{"the bundle", render.BundlePath(r.Config, name)},
		{"the bundle", render.BundlePath(r.Config, name) + Sealed},
		{"the public half of a bundle", render.PublicPath(r.Config, name)},
	} {
		if !term.AbsentPath(there.path) {
			return LostBundle(there.path+" is "+there.what+", and", path)
		}
	}
	if err := CheckNoCluster(path, name, r.Config, r.Review); err != nil {
		return err
	}
	if dir := documents(filepath.Dir(r.Config), name); dir != "" {
		return LostBundle(dir+" holds the documents of "+name+", and its bundle", path)
	}
	if err := CheckOutside("secrets", path); err != nil {
		return err
	}
	if dir := filepath.Dir(path); term.AbsentPath(dir) {
		return fmt.Errorf("--secrets %s: the folder %s for the new bundle is not there; "+
			"make it first", path, dir)
	}
	return nil
}

// documents returns a folder in dir that holds the documents of the cluster; empty if there is
// none. Folders that cannot be read do not count.
func documents(dir, cluster string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		folder := filepath.Join(dir, e.Name())
		inv, err := render.ReadInventory(folder)
		if err == nil && inv != nil && inv.Name == cluster {
			return folder
		}
	}
	return ""
}

// Renew gives etcd the identity that a restore needs, and window to form with it. The same restore
// within that time changes nothing.
func (f *File) Renew(restore string, window time.Duration) {
	now := time.Now().UTC().Truncate(time.Second)
	if f.Restored == restore && now.Before(f.FormationDeadline) {
		return
	}
	deadline := now.Add(window)
	if end := f.Authority(pki.CA).Certificate.NotAfter; deadline.After(end) {
		deadline = end
	}
	f.Restore(restore, deadline)
	f.Renewed = true
}

// LostKeys returns a note if a snapshot may have Secrets of a key that the bundle has dropped. The
// names of kiln's own snapshots say when they were taken; of others kiln cannot know it.
func (f *File) LostKeys(snapshot string) []string {
	r := f.Rotation(pki.RootEncryption)
	if r.Generation == 1 {
		return nil
	}
	dropped := r.Since
	if r.Stage != pki.Settled {
		dropped = time.Time{} // the present stage hides when the key before was dropped
	}
	when := "if it was taken before the key was dropped"
	if at := snapshotTime.FindString(snapshot); at != "" && !dropped.IsZero() {
		taken, err := time.Parse("20060102T150405Z", at)
		if err == nil && taken.After(dropped) {
			return nil
		}
		when = "for it was taken before " + dropped.Format(time.DateOnly)
	}
	return []string{fmt.Sprintf("--restore %s: Secrets in it may need an encryption key from "+
		"before g%d, which the bundle has no longer, %s; no API server could read them. Restore "+
		"with a copy of the bundle from that time (docs/rotation.md)",
		snapshot, r.Generation, when)}
}

// snapshotTime matches the time in the name of a snapshot that kiln's machines take.
var snapshotTime = regexp.MustCompile(`[0-9]{8}T[0-9]{6}Z`)
