package term

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// AbsentPath reports whether there is no file or folder at a path.
func AbsentPath(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// PathWithin reports whether a file or folder lies somewhere in the folder dir, with links
// followed.
func PathWithin(dir, name string) bool {
	_, inside := PathInside(ResolvePath(dir), name)
	return inside
}

// PathInside returns the path of name below dir, with slashes, and reports whether name lies there.
// It follows links in name as far as the path exists; dir has its links resolved already. A path
// with a line end counts as outside.
func PathInside(dir, name string) (string, bool) {
	place, err := filepath.Rel(dir, ResolvePath(name))
	place = filepath.ToSlash(place)
	below := err == nil && place != "." && fs.ValidPath(place)
	return place, below && !strings.ContainsAny(place, "\r\n")
}

// ResolvePath returns the absolute path of a file, with links replaced as far as the path exists.
func ResolvePath(name string) string {
	whole := AbsolutePath(name)
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

// AbsolutePath returns the absolute path of name, or name itself if the working directory is
// unknown.
func AbsolutePath(name string) string {
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}

// ShortPath returns a path relative to the working directory if it lies below that, or else as it
// is.
func ShortPath(name string) string {
	if below, ok := PathInside(ResolvePath("."), name); ok {
		return filepath.FromSlash(below)
	}
	return name
}
