package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln/pki"
	"kiln/render/config"
	"kiln/render/folder"
	"kiln/render/machine/addons"
)

// maxConfig is how many bytes a configuration may have. config.Parse has its own,
// smaller limit.
const maxConfig = 8 << 20

// Config reads and parses the configuration in the file path. The files that it names are read from
// the same folder or below it; no link is followed out of that folder. Mistakes in the file come
// back as config.Problems.
func Config(path string) (*config.Cluster, error) {
	return readConfig(path, config.Parse)
}

// ConfigPublic is Config for a place without secrets: files with secrets that the configuration
// names may be missing.
func ConfigPublic(path string) (*config.Cluster, error) {
	return readConfig(path, config.ParsePublic)
}

// parser is config.Parse or config.ParsePublic.
type parser func(path string, data []byte, files fs.FS) (*config.Cluster, error)

func readConfig(path string, parse parser) (*config.Cluster, error) {
	data, err := folder.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	return parseIn(filepath.Dir(path), path, data, parse)
}

// ConfigUnlocked is ConfigPublic without the lock (config.ParseUnlocked). It also returns what the
// lock has now.
func ConfigUnlocked(path string) (c *config.Cluster, locked *config.Locked, err error) {
	if c, err = readConfig(path, config.ParseUnlocked); err != nil {
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

// ConfigData is Config for a configuration that is not in a file. name stands for it in messages,
// and dir takes the place of its folder.
func ConfigData(name, dir string, data []byte) (*config.Cluster, error) {
	return parseIn(dir, name, data, config.Parse)
}

// ConfigPublicData is ConfigData for a place without secrets.
func ConfigPublicData(name, dir string, data []byte) (*config.Cluster, error) {
	return parseIn(dir, name, data, config.ParsePublic)
}

// parseIn parses a configuration whose files are in the folder dir.
func parseIn(dir, name string, data []byte, parse parser) (*config.Cluster, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return parse(name, data, regularFS{root.FS()})
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
