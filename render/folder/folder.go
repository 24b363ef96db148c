// Package folder is the only package that replaces files: a whole set of files in a folder, or one
// file. It writes all of it or nothing.
//
// New content has a temporary name until all of it is on disk; then it gets its own name. A run
// that is killed leaves the old content, and temporary files that the next run removes. A file that
// kiln did not write is never replaced: a set has a list of its files, and a single file is
// recognized by its content. No link is followed out of a folder. Only regular files are read, so
// that no pipe makes a run wait.
//
// The callers know the meaning of the files, and which content is kiln's.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Suffix ends the name of a file that is not yet whole.
const Suffix = ".kiln-new"

// MaxList is the largest size of a folder's list. The list of 100,000 machines is smaller.
const MaxList = 256 << 20

// ErrPartial comes when renaming failed half way: some files are new, others old, and the list does
// not match.
var ErrPartial = errors.New("the folder holds old and new files; run the same again")

// Changes lists what a run changed in a folder, or would change.
type Changes struct {
	Written   []string // paths below the folder whose content is new or has changed
	Removed   []string // paths of files that are no longer rendered
	Unchanged int
	// Closed is the mode that the folder had before it was closed to other users; zero if it was
	// not open to them.
	Closed fs.FileMode
}

// Changed reports whether the run changed anything, or would.
func (c *Changes) Changed() bool { return len(c.Written)+len(c.Removed) > 0 }

// Options describe a folder and what a run does with it.
type Options struct {
	Dir  string
	Mode fs.FileMode // of the files; with 0600 only the owner can use the folder
	// Check writes nothing: Changes lists what would change.
	Check bool
	// What and Flag are for messages: the kind of folder, such as "a review twin", and the flag
	// that names it.
	What, Flag string

	// List is the name of the file that lists the others. It is renamed last, so that an
	// interruption between renames shows. It is empty if the folder has no list; then the caller
	// decides about each file.
	List string
	// Paths returns the paths in a list, and with them an error if a folder with this list must not
	// change. Anybody may have written the list: Paths leaves out paths that kiln never writes.
	Paths func(list []byte) ([]string, error)
	// Folders is true if the paths of a list are folders. Everything is kiln's in those that the
	// run writes. Otherwise they are files, and a file that is not listed is not replaced.
	Folders bool
	// Inside returns the paths of the files that kiln wrote into a folder, by the lists that lie in
	// it; read returns the content of a file. It is for a list of folders: anybody may have put a
	// folder into the list, and nothing else is removed from one that the run does not write.
	Inside func(dir string, read func(name string) ([]byte, error)) []string
	// Makes reports whether kiln writes files with this path. It is for a list of files: a
	// temporary file of such a path is one that an interrupted run left.
	Makes func(name string) bool
	// Shared is true if other files may be in the folder, even before kiln wrote a list.
	Shared bool
	// Differs, if not nil, is called with Check for each file that would change.
	Differs func(name string, old, now []byte)
}

// Folder is what one run does to one folder.
type Folder struct {
	Options
	root    *os.Root // nil while the folder does not exist
	release func()
	listed  map[string]bool // paths in the folder's list
	fresh   bool            // the folder had no list
	wasOpen fs.FileMode     // the mode before restrict; see Changes.Closed

	mu               sync.Mutex
	realFolders      map[string]bool // folders below this one, no links; true if this run made it
	staged           []string        // files under their temporary name
	seen             map[string]bool // files of this run
	made             []string        // folders that this run made, outermost first
	written, removed []string
	unchanged        int
}

// Open makes the folder if it does not exist, opens it and keeps other runs away until Close. It
// removes what an interrupted run left. It fails if a folder without a list has foreign files
// (unless Shared), if Paths refuses the list, or if another run is writing there.
func Open(o Options) (*Folder, error) {
	f := &Folder{Options: o, fresh: true}
	f.listed, f.realFolders, f.seen = map[string]bool{}, map[string]bool{}, map[string]bool{}
	info, err := os.Stat(f.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.Check {
			return f, nil
		}
		if err := f.makeAll(f.Dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: not a folder; name one with %s", f.Dir, f.Flag)
	}
	if f.root, err = os.OpenRoot(f.Dir); err != nil {
		return nil, err
	}
	if f.release, err = lockFolder(f.Dir); err != nil {
		err = fmt.Errorf("%s: %w", f.Dir, err)
		return nil, errors.Join(err, f.root.Close())
	}
	if f.List != "" {
		if err := f.adopt(); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// Close removes what was not committed, and lets other runs in.
func (f *Folder) Close() {
	if f.root == nil {
		return
	}
	for _, name := range f.staged {
		_ = f.root.Remove(name + Suffix)
	}
	for _, dir := range slices.Backward(f.made) {
		_ = os.Remove(dir)
	}
	f.release()
	_ = f.root.Close()
	f.root = nil
}

// Changes returns the changes of this run, sorted.
func (f *Folder) Changes() Changes {
	slices.Sort(f.written)
	slices.Sort(f.removed)
	return Changes{Written: f.written, Removed: f.removed, Unchanged: f.unchanged,
		Closed: f.wasOpen}
}

// dirMode returns the mode of the folders.
func (f *Folder) dirMode() fs.FileMode { return f.Mode | f.Mode>>2&0o111 }

// makeAll makes a folder and those above it, and remembers them.
func (f *Folder) makeAll(dir string) error {
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

// Stage writes a file under its temporary name, unless the folder has the same file already.
// Several goroutines may call it. It fails if kiln did not write the existing file.
func (f *Folder) Stage(name string, data []byte) error {
	same, there := false, false
	if len(data) > MaxList {
		return fmt.Errorf("%s: larger than %d MiB, so that kiln could not read it again",
			filepath.Join(f.Dir, name), MaxList>>20)
	}
	if f.root != nil {
		empty, err := f.makeInside(path.Dir(name))
		if err == nil && !empty {
			same, there, err = f.same(name, data)
		}
		if err != nil {
			return err
		}
		if !f.Check && !empty {
			// Only an interrupted run can have left a file of that name.
			_ = f.root.Remove(name + Suffix)
		}
	}
	f.mu.Lock()
	f.seen[name] = true
	if same {
		f.unchanged++
	} else {
		f.written = append(f.written, name)
	}
	f.mu.Unlock()
	switch {
	case same:
		return nil
	case there && f.List != "" && !f.Folders && name != f.List && !f.covers(f.listed, name):
		return fmt.Errorf("%s: is there already, and %s does not list it; "+
			"move it away, or name another folder with %s",
			filepath.Join(f.Dir, name), f.List, f.Flag)
	case f.Check:
		return f.compare(name, data)
	}
	file, err := f.root.OpenFile(name+Suffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
	if err != nil {
		return withPath(filepath.Join(f.Dir, name+Suffix), err)
	}
	f.mu.Lock()
	f.staged = append(f.staged, name)
	f.mu.Unlock()
	if err := begun(filepath.Join(f.Dir, name+Suffix)); err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// makeInside makes a folder below this one and remembers it. It reports whether this run made the
// folder, which then has no files but those of this run. A link in its place is an error, because
// it leads to files that are not kiln's.
func (f *Folder) makeInside(dir string) (made bool, err error) {
	if dir == "." {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if made, known := f.realFolders[dir]; known {
		return made, nil
	}
	for part := range prefixes(dir) {
		err := fs.ErrExist
		if !f.Check {
			err = f.root.Mkdir(part, f.dirMode())
		}
		if made = err == nil; made {
			f.made = append(f.made, filepath.Join(f.Dir, part))
		} else if !errors.Is(err, fs.ErrExist) {
			return false, err
		} else if info, err := f.root.Lstat(part); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, err
		} else if !info.IsDir() {
			return false, fmt.Errorf("%s: not a folder; remove it", filepath.Join(f.Dir, part))
		}
		f.realFolders[part] = made
	}
	return made, nil
}

// prefixes returns the folders that a path leads through, outermost first, and the path itself.
func prefixes(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(name) + 1 {
			if (i == len(name) || name[i] == '/') && !yield(name[:i]) {
				return
			}
		}
	}
}

// MarkStale notes the files that this run did not stage: those of the old list or, with a list of
// folders, all other files in own and what kiln wrote into the folders of the old list. Commit
// removes them. Call it after every Stage except that of the list.
func (f *Folder) MarkStale(own ...string) error {
	if f.root == nil {
		return nil
	}
	for _, dir := range own {
		if err := f.markStaleIn(dir); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.listed)) {
		names := []string{name}
		switch {
		case f.Folders && slices.Contains(own, name):
			continue
		case f.Folders:
			names = f.inside(name)
		}
		for _, name := range names {
			if !f.seen[name] && name != f.List && f.isFile(name) {
				f.removed = append(f.removed, name)
			}
		}
	}
	return nil
}

// markStaleIn notes the files that this run did not stage, in a folder whose files are all kiln's.
// It removes temporary files at once.
func (f *Folder) markStaleIn(dir string) error {
	if !f.isRealFolder(dir) {
		return nil
	}
	err := fs.WalkDir(f.root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		whole, temporary := strings.CutSuffix(name, Suffix)
		switch {
		case err != nil || e.IsDir() || f.seen[name] || temporary && f.seen[whole] && !f.Check:
		case temporary && !f.Check:
			return f.root.Remove(name)
		default:
			f.removed = append(f.removed, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sync writes the staged files to disk.
func (f *Folder) Sync() error {
	if err := Sync(f.Dir); err != nil && !unsupported(err) {
		return fmt.Errorf("%s: sync: %w", f.Dir, err)
	}
	return nil
}

// Commit gives every staged file its own name and removes stale files. The list is renamed last and
// shows that the run is complete. Call Sync before it. An error wraps ErrPartial if some files are
// new by then. If the disk does not confirm the names, that is in the journal.
func (f *Folder) Commit() error {
	f.made = nil
	slices.SortFunc(f.staged, func(a, b string) int {
		if (a == f.List) != (b == f.List) {
			if b == f.List {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	if changed, err := f.rename(); err != nil && changed {
		return fmt.Errorf("%w: %w", ErrPartial, err)
	} else if err != nil {
		return err
	}
	noteUnsynced(f.Dir, Sync(f.Dir))
	return nil
}

// rename does the work of Commit but for the sync. It returns whether a file has changed by then,
// also with an error.
func (f *Folder) rename() (changed bool, err error) {
	for len(f.staged) > 0 && f.staged[0] != f.List {
		if err := f.renameFirst(); err != nil {
			return changed, err
		}
		changed = true
	}
	for _, name := range f.removed {
		if err := f.remove(name); err != nil {
			return changed, err
		}
		NoteChange()
		changed = true
	}
	if len(f.staged) > 0 { // the list
		err = f.renameFirst()
		changed = changed || err == nil
	}
	return changed, err
}

// renameFirst gives the first staged file its name.
func (f *Folder) renameFirst() error {
	name := f.staged[0]
	if err := f.root.Rename(name+Suffix, name); err != nil {
		return err
	}
	pending.Delete(filepath.Join(f.Dir, name+Suffix))
	NoteChange()
	f.staged = f.staged[1:]
	return nil
}

// remove removes a file, and its folders if they are empty then.
func (f *Folder) remove(name string) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if f.root.Remove(dir) != nil {
			break
		}
	}
	return nil
}
