package folder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// journal is what this process has done to files. It is kept here, and not returned by each call,
// because a verb may fail long after one of them: whoever then says that nothing was written has to
// know of all.
var journal struct {
	sync.Mutex
	changes  int // files and folders that got their name, or lost it
	unsynced []Unsynced
}

// Unsynced is a file or folder that has its new content, and may have the old one again after a
// power failure: the disk did not confirm the new name.
type Unsynced struct {
	Path string
	Err  error
}

// Unsupported reports whether the file system never confirms it. Any other error is one of the
// disk.
func (u Unsynced) Unsupported() bool { return unsupported(u.Err) }

func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// Mark is a moment of this process.
type Mark struct{ changes, unsynced int }

// Now returns the present moment.
func Now() Mark {
	journal.Lock()
	defer journal.Unlock()
	return Mark{journal.changes, len(journal.unsynced)}
}

// Changed reports whether this process has written or removed a file since then. Temporary files do
// not count.
func (m Mark) Changed() bool { return Now().changes > m.changes }

// Unsynced returns what was written since then without the disk's word for it, each path once. It
// leaves out a path that the disk did not confirm before then either: the list would have no end
// for a file that is written again and again.
func (m Mark) Unsynced() []Unsynced {
	journal.Lock()
	defer journal.Unlock()
	return slices.Clone(journal.unsynced[m.unsynced:])
}

// NoteChange notes that a file or folder has got its name, or lost it, here or by other code.
func NoteChange() {
	journal.Lock()
	defer journal.Unlock()
	journal.changes++
}

// noteUnsynced notes the error, if there is one, of a sync after a file or folder got its name.
func noteUnsynced(path string, err error) {
	if err == nil {
		return
	}
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err // its path may be that of the folder
	}
	u := Unsynced{filepath.Clean(path), err}
	journal.Lock()
	defer journal.Unlock()
	if !slices.ContainsFunc(journal.unsynced, func(v Unsynced) bool { return v.Path == u.Path }) {
		journal.unsynced = append(journal.unsynced, u)
	}
}
