package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/addons"
)

// maxConfig is how many bytes a configuration may have. config.Parse has its own,
// smaller limit.
const maxConfig = 8 << 20

// Config reads and parses a configuration. The files that it names are read from its own folder or
// below it, or from the working folder if it comes from standard input; no link is followed out of
// that folder. Mistakes in the configuration come back as config.Problems.
func Config(in *folder.Input) (*config.Cluster, error) { return readConfig(in, config.Parse) }

// ConfigPublic is Config for a place without secrets: files with secrets that the configuration
// names may be missing.
func ConfigPublic(in *folder.Input) (*config.Cluster, error) {
	return readConfig(in, config.ParsePublic)
}

// ConfigUnlocked is ConfigPublic without the lock (config.ParseUnlocked). It also returns what the
// lock has now.
func ConfigUnlocked(path string) (c *config.Cluster, locked *config.Locked, err error) {
	if c, err = readConfig(&folder.Input{Path: path}, config.ParseUnlocked); err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	locked, err = config.ReadLock(path, regularFS{root.FS()})
	return c, locked, err
}

func readConfig(
	in *folder.Input, parse func(path string, data []byte, files fs.FS) (*config.Cluster, error),
) (*config.Cluster, error) {
	data, err := in.Read(maxConfig)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(in.Path)) // of Stdin it is the working folder
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return parse(in.Name(), data, regularFS{root.FS()})
}

// regularFS opens only regular files and folders. Reading a pipe would wait for its other end.
type regularFS struct{ files fs.FS }

// Open opens a regular file or a folder. It fails for anything else without opening it.
func (r regularFS) Open(name string) (fs.File, error) {
	info, err := fs.Stat(r.files, name)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() && !mode.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	return r.files.Open(name)
}

// Stat returns the information about a file without opening it.
func (r regularFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.files, name) }

// SecretFiles returns the paths of the files with secrets that the configuration in the file path
// names: those that a field calls secret, and the files of add-ons in which a Secret has values. A
// path that ends in a slash is a folder.
func SecretFiles(path string, c *config.Cluster) (names []string) {
	for _, name := range slices.Concat(c.SecretFiles(), addons.SecretFiles(c)) {
		at := filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			at += "/"
		}
		names = append(names, at)
	}
	return names
}

// BundleEnd is the end of the name of a plain bundle.
const BundleEnd = ".secrets.yaml"

// BundlePath returns the default path of a configuration's bundle: beside the configuration, named
// for the cluster.
func BundlePath(configPath, cluster string) string {
	return filepath.Join(filepath.Dir(configPath), cluster+BundleEnd)
}

// PublicPath returns the default path of the public half of a configuration's bundle.
func PublicPath(configPath, cluster string) string {
	return filepath.Join(filepath.Dir(configPath), cluster+".public.yaml")
}

// Public reads and checks the public half of a bundle in the file path. The error wraps
// fs.ErrNotExist if there is none.
func Public(path string) (*pki.Public, error) {
	data, err := folder.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	p, err := pki.LoadPublic(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}
