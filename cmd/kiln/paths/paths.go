// Package paths answers where a file lies, with links followed, and whether it exists.
package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Absent reports whether there is no file or folder at a path.
func Absent(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// Within reports whether a file or folder lies somewhere in the folder dir, with links followed.
func Within(dir, name string) bool {
	_, inside := Inside(Resolve(dir), name)
	return inside
}

// Inside returns the path of name below dir, with slashes, and reports whether name lies there. It
// follows links in name as far as the path exists; dir has its links resolved already. A path with
// a line end counts as outside.
func Inside(dir, name string) (string, bool) {
	place, err := filepath.Rel(dir, Resolve(name))
	place = filepath.ToSlash(place)
	below := err == nil && place != "." && fs.ValidPath(place)
	return place, below && !strings.ContainsAny(place, "\r\n")
}

// Resolve returns the absolute path of a file, with links replaced as far as the path exists.
func Resolve(name string) string {
	whole := Absolute(name)
	for up := whole; ; up = filepath.Dir(up) {
		if real, err := filepath.EvalSymlinks(up); err == nil {
			rest, err := filepath.Rel(up, whole)
			if err != nil {
				return whole
			}
			return filepath.Join(real, rest)
		}
		if up == filepath.Dir(up) {
			return whole
		}
	}
}

// Absolute returns the absolute path of name, or name itself if the working directory is unknown.
func Absolute(name string) string {
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}

// Short returns a path relative to the working directory if it lies below that, or else as it is.
func Short(name string) string {
	if below, ok := Inside(Resolve("."), name); ok {
		return filepath.FromSlash(below)
	}
	return name
}
