package main

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// within reports whether a file or folder is somewhere in a folder, links followed.
func within(dir, name string) bool {
	_, inside := inside(resolved(dir), name)
	return inside
}

// inside returns the path of name below dir, with slashes, links in it followed as far as it is
// there. dir has its links resolved already; a path with a line end counts as outside.
func inside(dir, name string) (string, bool) {
	place, err := filepath.Rel(dir, resolved(name))
	place = filepath.ToSlash(place)
	return place, err == nil && place != "." && fs.ValidPath(place) && !strings.ContainsAny(place, "\r\n")
}

// resolved is the absolute path of a file without links, as far as it is there.
func resolved(name string) string {
	whole := absolute(name)
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

// absolute is a path from the root, or as it is if that is not known.
func absolute(name string) string {
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}
