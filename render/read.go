package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kiln/pki"
	"kiln/render/change"
	"kiln/render/compress"
	"kiln/render/config"
	"kiln/render/plan"
)

// maxConfig bounds what is read as a configuration or bundle; config.Parse has its own, smaller limit.
const maxConfig = 8 << 20

// Config reads and parses the configuration in the file path. The files that it names are read from the file's own
// folder and nowhere else: no link leads out of it. What is wrong in the file comes back as config.Problems.
func Config(path string) (*config.Cluster, error) {
	return readConfig(path, config.Parse)
}

// ConfigPublic is Config where the secrets are not: files with secrets that the configuration names may be missing.
func ConfigPublic(path string) (*config.Cluster, error) {
	return readConfig(path, config.ParsePublic)
}

func readConfig(path string, parse func(string, []byte, fs.FS) (*config.Cluster, error)) (*config.Cluster, error) {
	data, err := regular(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return parse(filepath.Base(path), data, root.FS())
}

// BundlePath is where the bundle of a configuration lies unless the command line says otherwise: beside it, named for the
// cluster.
func BundlePath(configPath, cluster string) string {
	return filepath.Join(filepath.Dir(configPath), cluster+".secrets.yaml")
}

// Bundle reads and checks the bundle in the file path. The error wraps fs.ErrNotExist if there is none. A
// bundle that others may read is refused.
func Bundle(path string) (*pki.Bundle, error) {
	data, err := regular(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("%s: others may read or change it (mode %04o), and it holds every secret of the cluster; chmod 600 it", path, info.Mode().Perm())
	}
	b, err := pki.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// PublicPath is where the public half of a configuration's bundle lies unless the command line says otherwise.
func PublicPath(configPath, cluster string) string {
	return filepath.Join(filepath.Dir(configPath), cluster+".public.yaml")
}

// Public reads and checks the public half of a bundle in the file path. The error wraps fs.ErrNotExist if there is none.
func Public(path string) (*pki.Public, error) {
	data, err := regular(path)
	if err != nil {
		return nil, err
	}
	p, err := pki.LoadPublic(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// WritePublic writes the public half of a bundle to the file path. A file that is there is replaced, whole, if it is such a half as well.
func WritePublic(path string, p *pki.Public) error {
	if _, err := Public(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; it is not replaced", err)
	}
	data, err := p.Marshal()
	if err != nil {
		return err
	}
	if err := create(path+tempSuffix, data, 0o644); err != nil {
		return err
	}
	return replace(path)
}

// Unpack reads a boot document in any form that ParseDocument knows: from a file, from a machine's folder as Write makes it, with what is delivered
// beside the document, or from in if path is "-". What the machine fetches is read from the file body or, if that is empty, from the one that lies beside the
// document; where there is none, Missing tells.
func Unpack(path, body string, in io.Reader) (*Unpacked, error) {
	if path == "-" {
		data, err := readUpTo("standard input", in, compress.MaxDocument)
		if err != nil {
			return nil, err
		}
		return withBody("standard input", data, body, "")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return unpackFolder(path, body)
	}
	data, err := regularUpTo(path, compress.MaxDocument)
	if err != nil {
		return nil, err
	}
	return withBody(path, data, body, filepath.Dir(path))
}

// withBody reads the document that is called name, and its body from a file or from one in the folder dir, if there is one.
func withBody(name string, data []byte, body, dir string) (*Unpacked, error) {
	u, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	paths := []string{body}
	switch {
	case body != "" && u.Missing() == nil:
		return nil, fmt.Errorf("%s: fetches no body; leave --body out", name)
	case u.Missing() == nil || body == "" && dir == "":
		return u, nil
	case body == "":
		paths = []string{filepath.Join(dir, bodyNames[plan.Ignition]), filepath.Join(dir, bodyNames[plan.CloudInit])}
	}
	for _, path := range paths {
		data, err := regularUpTo(path, compress.MaxDocument)
		if errors.Is(err, fs.ErrNotExist) && body == "" {
			continue
		}
		if err == nil {
			err = u.Fetch(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		break
	}
	return u, nil
}

func parseDocument(name string, data []byte) (*Unpacked, error) {
	u, err := ParseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return u, nil
}

// maxBeside bounds what is delivered beside a document.
const maxBeside = 1 << 20

func unpackFolder(dir, body string) (*Unpacked, error) {
	for _, name := range []string{"config.ign", "user-data"} {
		data, err := regularUpTo(filepath.Join(dir, name), compress.MaxDocument)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		u, err := withBody(filepath.Join(dir, name), data, body, dir)
		if err != nil {
			return nil, err
		}
		for name, into := range map[string]*[]byte{"network-config": &u.node.NetworkConfig, "meta-data": &u.metaData} {
			if *into, err = regularUpTo(filepath.Join(dir, name), maxBeside); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		return u, nil
	}
	return nil, fmt.Errorf("%s: holds neither config.ign nor user-data; name the folder of one machine", dir)
}

// CreateBundle writes a new bundle, mode 0600, and never over an existing file.
func CreateBundle(path string, b *pki.Bundle) error {
	data, err := b.Marshal()
	if err != nil {
		return err
	}
	return create(path, data, 0o600)
}

// create writes a new file and brings it to disk.
func create(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// WritePage writes a page over the file path, for everybody to read: an old one stays whole until the new one is on disk.
func WritePage(path string, page []byte) error {
	if err := create(path+tempSuffix, page, 0o644); err != nil {
		return err
	}
	return replace(path)
}

// ReplaceBundle writes b over the bundle in the file path: the old one stays whole until the new one is on disk.
func ReplaceBundle(path string, b *pki.Bundle) error {
	if err := CreateBundle(path+tempSuffix, b); err != nil {
		return err
	}
	return replace(path)
}

// replace gives what lies under a temporary name its own.
func replace(path string) error {
	if err := os.Rename(path+tempSuffix, path); err != nil {
		return errors.Join(err, os.Remove(path+tempSuffix))
	}
	return syncFolder(filepath.Dir(path))
}

// regular reads a regular file of a reasonable size: a pipe or a device would never end.
func regular(path string) ([]byte, error) {
	return regularUpTo(path, maxConfig)
}

func regularUpTo(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readUpTo(path, f, limit)
}

// readUpTo reads what is called name.
func readUpTo(name string, in io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, limit>>20)
	}
	return data, nil
}

func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return os.Open(path)
}

// TwinState reads the review twin in the folder dir.
func TwinState(dir string) (*change.Cluster, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	c, err := change.Read(func(name string) ([]byte, error) { return root.ReadFile(filepath.FromSlash(name)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// IsTwin says that a folder holds a review twin.
func IsTwin(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IndexFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// DocumentsState reads the documents in the output folder dir. It shows no secret.
func DocumentsState(dir string) (*change.Cluster, error) {
	inv, err := ReadInventory(dir)
	if err != nil {
		return nil, err
	}
	if inv == nil {
		return nil, fmt.Errorf("%s: no folder of documents: it has no %s", dir, InventoryFile)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	files, err := documentsTwin(inv, func(name string) ([]byte, error) { return root.ReadFile(filepath.FromSlash(name)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return FilesState(files)
}
