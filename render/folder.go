package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// tempSuffix ends the name of a file that is not yet whole.
const tempSuffix = ".kiln-new"

// Changes says what a run changed in a folder, or would change.
type Changes struct {
	Written   []string // paths below the folder whose content is new or has changed
	Removed   []string // paths of what is no longer rendered
	Unchanged int
	// Diffs are the first differences, if they were asked for and may be shown: those of the review twin with Check.
	Diffs []Diff
}

// Changed says whether anything is different from what lay there.
func (c *Changes) Changed() bool { return len(c.Written)+len(c.Removed) > 0 }

// folder is what one run does to one folder: files get temporary names first, and then, all together, their own. A folder for secrets is its
// owner's alone.
type folder struct {
	dir   string
	mode  fs.FileMode // of the files; a folder for secrets is strict about it
	check bool        // write nothing
	diff  bool        // tell what differs
	own   []string    // the folders below it that hold nothing but what is rendered
	last  string      // the file that says what the others are, so that a run cut off between renames shows

	root    *os.Root // nil while the folder does not exist
	release func()

	mu               sync.Mutex
	staged           []string // files that lie under their temporary name
	made             []string // folders that this run made, outermost first
	written, removed []string
	unchanged        int
	diffs            []Diff
}

// open makes the folder, if it has to be made, opens it and keeps other runs away.
func (f *folder) open() error {
	_, err := os.Stat(f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.check {
			return nil
		}
		if err := f.makeAll(f.dir); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if f.root, err = os.OpenRoot(f.dir); err != nil {
		return err
	}
	if f.release, err = lock(f.dir); err != nil {
		return errors.Join(fmt.Errorf("%s: another kiln is writing there: %w", f.dir, err), f.root.Close())
	}
	return nil
}

// close takes back what was not committed.
func (f *folder) close() {
	if f.root == nil {
		return
	}
	for _, name := range f.staged {
		_ = f.root.Remove(name + tempSuffix)
	}
	for _, dir := range slices.Backward(f.made) {
		_ = os.Remove(dir)
	}
	f.release()
	_ = f.root.Close()
}

// changes returns what was done, in order.
func (f *folder) changes() Changes {
	slices.Sort(f.written)
	slices.Sort(f.removed)
	return Changes{Written: f.written, Removed: f.removed, Unchanged: f.unchanged, Diffs: f.diffs}
}

// dirMode is the mode of folders whose files have f's.
func (f *folder) dirMode() fs.FileMode { return f.mode | f.mode>>2&0o111 }

// makeAll makes a folder and those above it, and remembers them.
func (f *folder) makeAll(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := f.makeAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, f.dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f.made = append(f.made, dir)
	return nil
}

// stage puts a file under its temporary name, unless what lies there is the same already.
func (f *folder) stage(name string, data []byte) error {
	if f.root != nil {
		if same, err := f.same(name, data); err != nil {
			return err
		} else if same {
			f.mu.Lock()
			f.unchanged++
			f.mu.Unlock()
			return nil
		}
	}
	f.mu.Lock()
	f.written = append(f.written, name)
	f.mu.Unlock()
	if f.check {
		return f.compare(name, data)
	}
	if err := f.makeInside(path.Dir(name)); err != nil {
		return err
	}
	// A file of that name can only be left over from a run that was cut off.
	_ = f.root.Remove(name + tempSuffix)
	file, err := f.root.OpenFile(name+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.staged = append(f.staged, name)
	f.mu.Unlock()
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// makeInside makes a folder below this one and remembers it.
func (f *folder) makeInside(dir string) error {
	if dir == "." {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.root.Stat(dir); err == nil {
		return nil
	}
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		switch err := f.root.Mkdir(dir[:i], f.dirMode()); {
		case err == nil:
			f.made = append(f.made, filepath.Join(f.dir, dir[:i]))
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// same says whether a file is there already. What others may read is not the same as what they may not; otherwise modes are whatever
// git and the umask make of them.
func (f *folder) same(name string, data []byte) (bool, error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s: not a regular file; remove it", filepath.Join(f.dir, name))
	}
	if info.Size() != int64(len(data)) || f.mode == 0o600 && info.Mode().Perm() != f.mode {
		return false, nil
	}
	old, err := f.root.ReadFile(name)
	return bytes.Equal(old, data), err
}

// compare keeps how a file would change.
func (f *folder) compare(name string, data []byte) error {
	if !f.diff || len(f.diffs) == maxDiffs {
		return nil
	}
	var old []byte
	if f.root != nil {
		var err error
		if old, err = f.root.ReadFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f.diffs = append(f.diffs, Diff{Name: name, Lines: unified(old, data)})
	return nil
}

// sweep finds what is not to be there in the folders that are f's own. What lies beside them belongs to others. It comes before the first
// stage, so that what lies under a temporary name was left by a run that was cut off.
func (f *folder) sweep(wanted func(name string) bool) error {
	if f.root == nil {
		return nil
	}
	slices.Sort(f.own)
	for _, dir := range slices.Compact(f.own) {
		err := fs.WalkDir(f.root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !wanted(name) {
				f.removed = append(f.removed, name)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sync brings to disk what is staged.
func (f *folder) sync() error {
	if err := syncFolder(f.dir); err != nil {
		return fmt.Errorf("%s: sync: %w", f.dir, err)
	}
	return nil
}

// commit gives every staged file its own name and removes what is no longer rendered; the last file says that all is done.
func (f *folder) commit() error {
	f.made = nil
	slices.SortFunc(f.staged, func(a, b string) int {
		if (a == f.last) != (b == f.last) {
			if b == f.last {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	swept := false
	for len(f.staged) > 0 {
		name := f.staged[0]
		if name == f.last {
			if err := f.removeStale(); err != nil {
				return fmt.Errorf("%w: %w", ErrPartial, err)
			}
			swept = true
		}
		if err := f.root.Rename(name+tempSuffix, name); err != nil {
			return fmt.Errorf("%w: %w", ErrPartial, err)
		}
		f.staged = f.staged[1:]
	}
	if !swept {
		if err := f.removeStale(); err != nil {
			return fmt.Errorf("%w: %w", ErrPartial, err)
		}
	}
	return f.sync()
}

func (f *folder) removeStale() error {
	for _, name := range f.removed {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Its folders go with their last file; one with other people's files stays.
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if f.root.Remove(dir) != nil {
				break
			}
		}
	}
	return nil
}
