package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// adopt finds out by its list whether the folder is kiln's, and removes what an interrupted run
// left in it.
//
// All files of a run, the list among them, are on disk under temporary names before the first one
// gets its own name. So every file of an interrupted run is named by the list, or by the list under
// its temporary name.
func (f *Folder) adopt() error {
	list, err := f.read(f.List, MaxList)
	switch {
	case err == nil:
		f.fresh = false
		names, err := f.Paths(list)
		if err != nil {
			return err
		}
		f.listed = set(names)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; remove it, or name another folder with %s", err, f.Flag)
	}
	// A list under its temporary name belongs to an interrupted run. It may be wrong, so it names
	// only candidates.
	var left map[string]bool
	if cut, err := f.read(f.List+Suffix, MaxList); err == nil {
		if names, err := f.Paths(cut); err == nil {
			left = set(names)
		}
	}
	written := left
	if f.Folders {
		written = map[string]bool{}
		for dir := range left {
			maps.Copy(written, set(f.inside(dir)))
		}
	}
	stranger, err := f.stranger(written)
	if err != nil {
		return err
	}
	if f.fresh && stranger != "" && !f.Shared {
		return fmt.Errorf(
			"%s: not empty and not %s: it holds %s and has no %s; name a new folder with %s",
			f.Dir, f.What, wording.Visible(stranger, ""), f.List, f.Flag)
	}
	if f.Check {
		maps.Copy(f.listed, left)
		return nil
	}
	if err := f.restrict(stranger == "" || !f.fresh); err != nil {
		return err
	}
	return f.repair(left)
}

func set(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out
}

// errStranger ends a walk at the first foreign file.
var errStranger = errors.New("a stranger's file")

// stranger returns a file, in a folder without a list, that no run of kiln can have left; empty if
// there is none.
func (f *Folder) stranger(left map[string]bool) (found string, err error) {
	if !f.fresh {
		return "", nil
	}
	err = fs.WalkDir(f.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, Suffix) || f.covers(left, name) {
			return err
		}
		found = name
		return errStranger
	})
	if errors.Is(err, errStranger) {
		return found, nil
	}
	return "", err
}

// restrict keeps other users out of a folder for secrets: they could read the secrets or replace a
// document. Of a shared folder they may still read the names, and only lose the right to change it.
func (f *Folder) restrict(ours bool) error {
	info, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	open := info.Mode().Perm() &^ f.dirMode()
	if f.Shared {
		open &= 0o022
	}
	if f.Mode != 0o600 || open == 0 {
		return nil
	}
	if ours {
		if err = f.root.Chmod(".", info.Mode()&^open); err == nil {
			f.wasOpen = info.Mode().Perm()
			return nil
		}
	}
	return fmt.Errorf(
		"%s: others may read or change what is in it (mode %04o), and it is to hold secrets; "+
			"chmod go-rwx it, or name another folder with %s",
		f.Dir, info.Mode().Perm(), f.Flag)
}

// repair removes what interrupted runs left: files that only the list of such a run names, then
// temporary files below the folder, then that list. It leaves temporary files beside the list to
// Stage, because another verb may be writing one there.
func (f *Folder) repair(left map[string]bool) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(left)) {
		switch {
		case f.covers(f.listed, name) || name == f.List:
		case f.Folders:
			names = append(names, f.inside(name)...)
		default:
			names = append(names, name)
		}
	}
	temporary, err := f.temporary(left)
	if err != nil {
		return err
	}
	for _, name := range append(names, temporary...) {
		if f.isFile(name) {
			if err := f.remove(name); err != nil {
				return err
			}
		}
	}
	return f.remove(f.List + Suffix)
}

// temporary returns the temporary files below the folder that kiln can have written: those of files
// that a list names, and those of other files that kiln makes.
func (f *Folder) temporary(left map[string]bool) (names []string, err error) {
	if f.Folders {
		for _, list := range []map[string]bool{f.listed, left} {
			for _, dir := range slices.Sorted(maps.Keys(list)) {
				for _, name := range f.inside(dir) {
					names = append(names, name+Suffix)
				}
			}
		}
		return names, nil
	}
	err = fs.WalkDir(f.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		whole, temporary := strings.CutSuffix(name, Suffix)
		if err == nil && !e.IsDir() && temporary && strings.Contains(name, "/") &&
			(f.listed[whole] || left[whole] || f.Makes != nil && f.Makes(whole)) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// inside returns the paths of the files that kiln wrote into a folder, if it is one and no link.
func (f *Folder) inside(dir string) (names []string) {
	if f.Inside == nil || f.root == nil || !fs.ValidPath(dir) || !f.isRealFolder(dir) {
		return nil
	}
	read := func(name string) ([]byte, error) { return f.read(name, MaxList) }
	for _, name := range f.Inside(dir, read) {
		if fs.ValidPath(name) && strings.HasPrefix(name, dir+"/") {
			names = append(names, name)
		}
	}
	return names
}

// covers reports whether a list names a path or, if it is a list of folders, a folder that the path
// is in.
func (f *Folder) covers(list map[string]bool, name string) bool {
	if name == f.List || list[name] {
		return true
	}
	for part := range prefixes(name) {
		if f.Folders && list[part] {
			return true
		}
	}
	return false
}

// isFile reports whether a path that a list names may be removed: it is a regular file, and neither
// it nor a folder above it is a link. Kiln makes nothing else.
func (f *Folder) isFile(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && !f.isRealFolder(name[:i]) {
		return false
	}
	info, err := f.root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// isRealFolder reports whether a path is a folder, and neither it nor a folder above it is a link.
func (f *Folder) isRealFolder(dir string) bool {
	for part := range prefixes(dir) {
		if info, err := f.root.Lstat(filepath.FromSlash(part)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
