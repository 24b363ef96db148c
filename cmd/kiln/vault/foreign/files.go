package foreign

import (
	"encoding/pem"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// made reports whether kiln certs csr writes files with this path.
func made(name string) bool {
	if name == listFile || name == tableFile {
		return true
	}
	dir, file, ok := strings.Cut(name, "/")
	return ok && slices.Contains(external.Roots(), pki.Root(dir)) &&
		!strings.Contains(file, "/") && strings.HasSuffix(file, ".csr")
}

// outputs yields files in the order of their names.
func outputs(files map[string][]byte) iter.Seq2[render.Output, error] {
	return func(yield func(render.Output, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !yield(render.Output{Name: name, Data: files[name]}, nil) {
				return
			}
		}
	}
}

// What a person may give: maxFile bounds a file, maxAll all of them, and maxFiles a folder.
const (
	maxFile  = 1 << 20
	maxAll   = 64 << 20
	maxFiles = 50_000
)

// endings are those of certificates in a folder.
var endings = []string{".crt", ".pem", ".cer"}

// block is a PEM block CERTIFICATE, with the place that it comes from.
type block struct {
	from string
	der  []byte
}

// readAll returns the certificates in files, and in the files of folders and of the folders in
// them. It returns an error for each file that it cannot use.
func readAll(paths []string) (all []block, errs []error) {
	total := 0
	add := func(path string, data []byte, err error) (full bool) {
		if total += len(data); total > maxAll {
			errs = append(errs, fmt.Errorf("%s: more than %d MiB with the files before it; name "+
				"the signed certificates alone", wording.Visible(path, ""), maxAll>>20))
			return true
		}
		blocks, err := blocksOf(wording.Visible(path, ""), data, err)
		if all = append(all, blocks...); err != nil {
			errs = append(errs, err)
		}
		return false
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !info.IsDir() {
			data, _, err := folder.ReadGiven(path, maxFile)
			if add(path, data, err) {
				return nil, errs
			}
			continue
		}
		names, err := inside(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, name := range names {
			data, err := folder.Read(name, maxFile) // nobody named it: a pipe would wait
			if add(name, data, err) {
				return nil, errs
			}
		}
	}
	return all, errs
}

// inside returns the files with certificates below a folder, in the order of their names. It
// follows no link to another folder.
func inside(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir() && slices.Contains(endings, strings.ToLower(filepath.Ext(path))):
			names = append(names, path)
		}
		if len(names) > maxFiles {
			return fmt.Errorf("%s: more than %d files; name the folder of the certificates", dir,
				maxFiles)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no file there ends in %s; name the folder with the signed "+
			"certificates, or their files", dir, strings.Join(endings, ", "))
	}
	return names, err
}

// blocksOf returns the certificates in a file that was read, or failed to be.
func blocksOf(path string, data []byte, err error) (blocks []block, _ error) {
	if err != nil {
		return nil, err
	}
	rest := data
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		switch {
		case b.Type == "CERTIFICATE" && len(b.Headers) == 0:
			blocks = append(blocks, block{path, b.Bytes})
		case strings.HasSuffix(b.Type, "CERTIFICATE REQUEST"):
			return nil, fmt.Errorf("%s: a request; give the certificate that the CA made of it",
				path)
		case strings.HasSuffix(b.Type, "PRIVATE KEY"):
			return nil, fmt.Errorf("%s: a private key, which kiln does not want; give "+
				"certificates alone, and ask who else has read the file", path)
		case b.Type == "PKCS7":
			return nil, fmt.Errorf("%s: PKCS #7; give the certificates in it: "+
				"openssl pkcs7 -print_certs -in FILE", path)
		default:
			return nil, fmt.Errorf("%s: a PEM block that is no plain certificate; want blocks "+
				"CERTIFICATE without headers", path)
		}
	}
	if len(blocks) == 0 || strings.Contains(string(rest), "-----BEGIN") {
		return nil, fmt.Errorf("%s: no whole PEM block CERTIFICATE; want a certificate in PEM: "+
			"openssl x509 -inform DER -in FILE turns DER into it, and openssl pkcs7 -inform DER "+
			"-print_certs -in FILE a .p7b", path)
	}
	return blocks, nil
}
