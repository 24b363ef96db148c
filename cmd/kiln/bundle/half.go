package bundle

import (
	"bytes"
	"fmt"
	"os"

	"kiln/cmd/kiln/paths"
	"kiln/pki"
	"kiln/render"
)

// CheckNewest returns an error if a bundle is older than the public half in the file stored: its old
// keys would come back. Path is the bundle's. A file that is absent, or that holds no public half,
// says nothing.
func CheckNewest(stored, path string, half *pki.Public) error {
	there, err := render.Public(stored)
	if err != nil {
		return nil
	}
	name := half.Older(there)
	if name == "" {
		return nil
	}
	if path == "-" {
		path = "standard input"
	}
	return fmt.Errorf("%s: the bundle is older than %s: %s is %d here and %d there, and old keys would come back; "+
		"restore the newer copy of the bundle", path, stored, name, half.Generation(name), there.Generation(name))
}

// StaleHalf returns a note if the public half in the file stored is no longer the bundle's: people
// without secrets would render another twin. Path is the bundle's. It returns nothing if there is no
// such file.
func StaleHalf(stored, path string, half *pki.Public) (note string, err error) {
	if paths.Absent(stored) {
		return "", nil
	}
	there, err := render.Public(stored)
	if err != nil {
		return "", err
	}
	old, err := there.Marshal()
	if err != nil {
		return "", err
	}
	now, err := half.Marshal()
	if err != nil || bytes.Equal(old, now) {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		path = "BUNDLE" // it came from a pipe
	}
	return fmt.Sprintf("%s is no longer the public half of %s; run: kiln secrets public --secrets %s --out %s",
		stored, path, path, stored), nil
}
