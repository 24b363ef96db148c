package render

import (
	"bytes"
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
	"kiln/render/document"
	"kiln/render/folder"
	"kiln/render/review"
	"kiln/render/target"
)

// maxConfig is how many bytes a configuration or a bundle may have. config.Parse has its own,
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
type parser func(name string, data []byte, files fs.FS) (*config.Cluster, error)

func readConfig(path string, parse parser) (*config.Cluster, error) {
	data, err := folder.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return parse(filepath.Base(path), data, regularFS{root.FS()})
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

// BundlePath returns the default path of a configuration's bundle: beside the configuration, named
// for the cluster.
func BundlePath(configPath, cluster string) string {
	return filepath.Join(filepath.Dir(configPath), cluster+".secrets.yaml")
}

// Bundle reads and checks the bundle in the file path. The error wraps fs.ErrNotExist if there is
// none. Bundle also fails if other users may read or change the file.
func Bundle(path string) (*pki.Bundle, error) {
	data, err := folder.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	return storedBundle(path, data)
}

// GivenBundle is Bundle for a path that the command line names: path may be a pipe, or "-" for in.
// stored reports whether the bundle is a file at path, so that it can be written back.
func GivenBundle(path string, in io.Reader) (b *pki.Bundle, stored bool, err error) {
	var data []byte
	name := path
	if path == "-" {
		name = "standard input"
		data, err = folder.ReadUpTo(name, in, maxConfig)
	} else {
		data, stored, err = folder.ReadGiven(path, maxConfig)
	}
	if err != nil {
		return nil, false, err
	}
	switch {
	case stored:
		b, err = storedBundle(path, data)
	case len(bytes.TrimSpace(data)) == 0:
		err = fmt.Errorf("%s: nothing came through the pipe: did the command before it fail?", name)
	default:
		b, err = loadBundle(name, data)
	}
	return b, stored, err
}

// storedBundle loads a bundle from a file. It fails if other users may read or change the file.
func storedBundle(path string, data []byte) (*pki.Bundle, error) {
	// A file that is not a bundle is reported as such, whatever its mode.
	if err := pki.Mistaken(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("%s: others may read or change it (mode %04o), "+
			"and it holds every secret of the cluster; chmod 600 it", path, info.Mode().Perm())
	}
	if !folder.OwnedByUser(info) {
		return nil, fmt.Errorf("%s: belongs to another user, who may read and change it, "+
			"and it holds every secret of the cluster; chown it, and chmod 600 it", path)
	}
	return loadBundle(path, data)
}

// loadBundle loads a bundle. Each line of an error begins with name.
func loadBundle(name string, data []byte) (*pki.Bundle, error) {
	b, err := pki.Load(data)
	if err == nil {
		return b, nil
	}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for i := range errs {
		errs[i] = fmt.Errorf("%s: %w", name, errs[i])
	}
	return nil, errors.Join(errs...)
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

// Unpack reads a boot document in any form that ParseDocument knows: from the file path, from in if
// path is "-", or from the folder of a machine as Write makes it, with the files that are delivered
// beside the document. If the machine fetches a body, the body is read from the file body or, if
// body is empty, from the file beside the document. If there is no such file, the result is
// incomplete and its Missing returns why.
func Unpack(path, body string, in io.Reader) (*review.Unpacked, error) {
	if path == "-" {
		data, err := folder.ReadUpTo("standard input", in, compress.MaxDocument)
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
	data, err := folder.Read(path, compress.MaxDocument)
	if err != nil {
		return nil, err
	}
	return withBody(path, data, body, filepath.Dir(path))
}

// withBody parses the document called name and adds its body: from the file body or, if body is
// empty, from the folder dir if the body lies there.
func withBody(name string, data []byte, body, dir string) (*review.Unpacked, error) {
	u, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	candidates := []string{body}
	switch {
	case body != "" && u.Missing() == nil:
		return nil, fmt.Errorf("%s: fetches no body; leave --body out", name)
	case u.Missing() == nil || body == "" && dir == "":
		return u, nil
	case body == "":
		candidates = []string{
			filepath.Join(dir, document.BodyNames[target.Ignition]),
			filepath.Join(dir, document.BodyNames[target.CloudInit]),
		}
	}
	for _, path := range candidates {
		data, err := folder.Read(path, compress.MaxDocument)
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

// parseDocument is ParseDocument with errors that name the document.
func parseDocument(name string, data []byte) (*review.Unpacked, error) {
	u, err := review.ParseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return u, nil
}

// maxBeside is how many bytes a file beside a document may have.
const maxBeside = 1 << 20

// unpackFolder is Unpack for the folder of a machine.
func unpackFolder(dir, body string) (*review.Unpacked, error) {
	for _, name := range []string{"config.ign", "user-data"} {
		data, err := folder.Read(filepath.Join(dir, name), compress.MaxDocument)
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
		var networkConfig, metaData []byte
		for name, data := range map[string]*[]byte{
			document.NetworkConfigFile: &networkConfig, "meta-data": &metaData,
		} {
			*data, err = folder.Read(filepath.Join(dir, name), maxBeside)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		u.Beside(networkConfig, metaData)
		return u, nil
	}
	return nil, fmt.Errorf("%s: holds neither config.ign nor user-data; "+
		"name the folder of one machine", dir)
}

// TwinState reads the review twin in the folder dir.
func TwinState(dir string) (*change.Cluster, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	c, err := review.ReadFrom(func(name string) ([]byte, error) { return readInside(root, dir, name) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// IsTwin reports whether a folder has an INDEX, as a review twin has.
func IsTwin(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, review.IndexFile))
	return err == nil
}

// DocumentsState reads the documents in the output folder dir. The result holds no secret.
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
	c, err := review.FromDocuments(inv, func(name string) ([]byte, error) {
		return readInside(root, dir, name)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}
