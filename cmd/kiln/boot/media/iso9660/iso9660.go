// Package iso9660 writes an ISO 9660 image of a few small files, which a machine mounts to read its
// boot document. The full names are in the image twice: as Rock Ridge, which Linux reads first, and
// as Joliet, for Windows. Equal files give equal bytes, since all dates are the same. The package
// reads no images, and its images do not boot.
//
// The formats are those of ECMA-119, of SUSP 1.10 and RRIP 1.10 (1993), and of the Joliet
// specification (1995).
package iso9660

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// File is a file of an image.
type File struct {
	Path string // such as "user-data" or "openstack/latest/user_data"
	Data []byte
}

const (
	sector = 2048
	// systemSectors are the empty sectors before the first descriptor.
	systemSectors = 16
	// maxName and maxLabel are the lengths of the longest name and label that each of the three
	// kinds of names (plain, Rock Ridge, Joliet) can hold.
	maxName  = 31
	maxLabel = 16
	// maxDepth is the greatest number of levels of folders, the root included.
	maxDepth = 8
	// maxImage and maxFiles bound an image, which is made in memory. No boot document comes near
	// them, and within them every number fits its field.
	maxImage = 256 << 20
	maxFiles = 4096
)

// Image returns the image of files with a volume label. On the machine that mounts it the files are
// root's alone (0400, folders 0500).
//
// It fails if the label or a name is empty, too long or has other characters than letters, digits
// and "-", "_" and "."; if a path stands twice, also as a folder; if two names of a folder have the
// same plain name (capital letters, digits and "_"); or if the files are too many or too large.
func Image(label string, files []File) ([]byte, error) {
	if err := checkName(label, maxLabel); err != nil {
		return nil, fmt.Errorf("label %q: %w", label, err)
	}
	if len(files) > maxFiles {
		return nil, fmt.Errorf("%d files are more than %d", len(files), maxFiles)
	}
	root := newFolder("")
	total := 0
	for _, f := range files {
		if err := root.add(f.Path, f.Data); err != nil {
			return nil, fmt.Errorf("file %q: %w", f.Path, err)
		}
		if total += len(f.Data); total > maxImage {
			return nil, fmt.Errorf("the files have more than %d MiB", maxImage>>20)
		}
	}
	if err := root.distinct(); err != nil {
		return nil, err
	}
	return newLayout(label, root).image(), nil
}

// checkName checks a name or label. It fails if it is empty, too long, or has a character that the
// package does not write.
func checkName(name string, limit int) error {
	other := strings.IndexFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
	switch {
	case name == "" || name == "." || name == "..":
		return errors.New("not a name")
	case len(name) > limit:
		return fmt.Errorf("longer than %d characters", limit)
	case other >= 0:
		return errors.New(`want letters, digits, "-", "_" and "."`)
	case strings.Count(name, ".") > 1:
		return errors.New("want one dot at most")
	}
	return nil
}

// entry is a file or folder.
type entry struct {
	name   string
	data   []byte
	folder bool
	inside []*entry // the entries of a folder, in the order in which they were added
	parent *entry   // the root's is the root itself

	// extent is the first sector of a file's content, which both trees share, or of a folder's
	// records in each tree.
	extent [2]int
	// size is the size of the content, or of the folder's records in each tree, in bytes.
	size [2]int
	// number is a folder's place in the path table of each tree.
	number [2]int
}

func newFolder(name string) *entry {
	e := &entry{name: name, folder: true}
	e.parent = e
	return e
}

// add puts a file into the tree, with the folders above it. It fails if the path is too deep, has a
// wrong name, or is used already.
func (e *entry) add(path string, data []byte) error {
	names := strings.Split(path, "/")
	if len(names) >= maxDepth {
		return fmt.Errorf("deeper than %d folders", maxDepth-1)
	}
	for i, name := range names {
		if err := checkName(name, maxName); err != nil {
			return err
		}
		last := i == len(names)-1
		at := slices.IndexFunc(e.inside, func(o *entry) bool { return o.name == name })
		switch {
		case at < 0 && last:
			e.inside = append(e.inside, &entry{name: name, data: data, parent: e})
			return nil
		case at < 0:
			next := newFolder(name)
			next.parent = e
			e.inside = append(e.inside, next)
			e = next
		case last || !e.inside[at].folder:
			return errors.New("the path is used twice")
		default:
			e = e.inside[at]
		}
	}
	return nil
}

// distinct checks the plain names at and below e. It fails if two names of a folder have the same.
func (e *entry) distinct() error {
	seen := map[string]string{}
	for _, o := range e.inside {
		plain := plainName(o)
		if other, ok := seen[plain]; ok {
			return fmt.Errorf("files %q and %q have the same plain name, %s", other, o.name, plain)
		}
		seen[plain] = o.name
		if err := o.distinct(); err != nil {
			return err
		}
	}
	return nil
}

// plainName returns an entry's name in the plain tree: capital letters, digits and "_" (ECMA-119
// 7.5, with the long names of level 2).
func plainName(e *entry) string {
	name := strings.ReplaceAll(strings.ToUpper(e.name), "-", "_")
	if e.folder {
		return strings.ReplaceAll(name, ".", "_")
	}
	if !strings.Contains(name, ".") {
		name += "."
	}
	return name + ";1"
}

// children returns a folder's entries in the order of a tree.
func (e *entry) children(t tree) []*entry {
	out := slices.Clone(e.inside)
	slices.SortFunc(out, func(a, b *entry) int {
		return cmp.Compare(t.identifier(a), t.identifier(b))
	})
	return out
}
