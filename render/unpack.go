package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/twin/review"
)

// Unpack reads a boot document in any form that review.ParseDocument knows: from the file path,
// from in if path is "-", or from the folder of a machine as Write makes it, with the files that
// are delivered beside the document. If the machine fetches a body, the body is read from the file
// body or, if body is empty, from the file beside the document. If there is no such file, the
// result is incomplete and its Missing returns why.
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
