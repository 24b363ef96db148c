// Package iso9660 writes an ISO 9660 image of a few small files: what a machine mounts to read its boot document. The names are there in full
// twice, as Rock Ridge, which Linux reads first, and as Joliet, for Windows. Equal files give equal bytes: all dates are the same one.
// Nothing is read, and nothing of an image that boots is here.
//
// The formats are those of ECMA-119, of SUSP 1.10 and RRIP 1.10 (1993), and of the Joliet specification (1995).
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
	// systemSectors stand before the first descriptor; nothing is in them.
	systemSectors = 16
	// maxName is the longest name, and maxLabel the longest label, that every one of the three trees can hold.
	maxName  = 31
	maxLabel = 16
	// maxDepth is how many levels of folders there may be, the root among them.
	maxDepth = 8
	// maxImage and maxFiles bound an image: it is made in memory, and no boot document comes near them. So every number of it has room in its field.
	maxImage = 256 << 20
	maxFiles = 4096
)

// Image returns the image of files with a volume label. On the machine that mounts it the files are root's alone (0400, folders 0500).
//
// It fails if the label or a name is empty, too long or has other characters than letters, digits and "-", "_" and ".", if a path is there
// twice, or also as a folder, or differs from another one only in letters that the plain tree cannot tell apart, or if the files are too many or too large.
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

// checkName says what is wrong with a name.
func checkName(name string, limit int) error {
	other := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
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
	inside []*entry // of a folder, in the order in which they were added
	parent *entry   // of the root, itself

	// Where it begins, in sectors: a file's content, which both trees share, and a folder's records in each tree.
	extent [2]int
	// size is that of the content or of the folder's records, in bytes.
	size [2]int
	// number is a folder's place in the path tables.
	number [2]int
}

func newFolder(name string) *entry {
	e := &entry{name: name, folder: true}
	e.parent = e
	return e
}

// add puts a file into the tree, with the folders above it.
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

// distinct checks that no two names of a folder become the same one in the plain tree.
func (e *entry) distinct() error {
	seen := map[string]string{}
	for _, o := range e.inside {
		plain := plainName(o)
		if other, ok := seen[plain]; ok {
			return fmt.Errorf("files %q and %q: both are %s without extensions of the format", other, o.name, plain)
		}
		seen[plain] = o.name
		if err := o.distinct(); err != nil {
			return err
		}
	}
	return nil
}

// plainName is an entry's name in the plain tree: capital letters, digits and "_" (ECMA-119 7.5, with the long names of level 2).
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

// sorted are a folder's entries in the order of a tree.
func (e *entry) sorted(t tree) []*entry {
	out := slices.Clone(e.inside)
	slices.SortFunc(out, func(a, b *entry) int { return cmp.Compare(t.identifier(a), t.identifier(b)) })
	return out
}
