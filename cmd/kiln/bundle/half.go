package bundle

import (
	"bytes"
	"fmt"
	"os"

	"kiln/cmd/kiln/paths"
	"kiln/pki"
	"kiln/render"
)

// CheckNewest returns an error if half, of the bundle in the file path, is older than the public
// half in the file stored, or is of another rotation: old keys or dates would come back. It returns
// nil if stored is absent, and an error if it holds no public half.
func CheckNewest(stored, path string, half *pki.Public) error {
	if paths.Absent(stored) {
		return nil
	}
	there, err := render.Public(stored)
	if err != nil {
		return fmt.Errorf("%w. It would say whether the bundle is the newest copy: restore it, or "+
			"remove it and run: kiln secrets public", err)
	}
	if path == "-" {
		path = "standard input"
	}
	if why := half.Diverged(there); why != "" {
		return fmt.Errorf("%s: the bundle and %s do not belong together: %s; restore the bundle "+
			"that made %[2]s. Only if this bundle went back with --back and began again, and no "+
			"machine has the other root, remove %[2]s, and run: kiln secrets public",
			path, stored, why)
	}
	why := half.Older(there)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s: the bundle is older than %s: %s; restore the newer copy of the bundle",
		path, stored, why)
}

// CheckReplaces is CheckNewest for half that takes the place of the file stored. A file that is no
// public half is not its business: nothing replaces it.
func CheckReplaces(stored, path string, half *pki.Public) error {
	if _, err := render.Public(stored); err != nil {
		return nil
	}
	return CheckNewest(stored, path, half)
}

// StaleHalf returns a note if the public half in the file stored differs from half, of the bundle
// in the file path: people without secrets would render another twin. It returns no note if stored
// is absent, and an error if stored holds no public half.
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
	return fmt.Sprintf("%s is no longer the public half of %s; "+
		"run: kiln secrets public --secrets %[2]s --out %[1]s", stored, path), nil
}
