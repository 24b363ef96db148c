package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Owned is a file that one process writes again and again, and no other one meanwhile, where the
// system has locks. Nothing lies beside the file, and a process that is killed leaves no lock.
type Owned struct {
	path string
	held *os.File // the file as it is now, locked; nil if there is none yet
}

// Own makes this process the owner of the file path, which may be absent, until Close. It fails if
// another process owns it, or if it is a link or no regular file.
func Own(path string) (*Owned, error) {
	for {
		o := &Owned{path: path}
		file, err := openRegular(path, os.Lstat, openNoLink, path)
		if errors.Is(err, fs.ErrNotExist) {
			return o, nil
		}
		if err != nil {
			return nil, err
		}
		if err := lockFile(file); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
		}
		o.held = file
		if info, err := os.Lstat(path); err == nil && o.holds(info) {
			return o, nil
		}
		_ = o.Close() // the owner has replaced the file and ended since it was opened
	}
}

// Replace writes the file in the place of whatever has its name, even a link, which is not
// followed. The old file stays whole until the new one is on disk. It fails if another process has
// become the owner: the file was absent, or somebody removed it.
func (o *Owned) Replace(data []byte, mode fs.FileMode) error {
	file, err := replace(o.path, data, mode, o.mayReplace)
	if file != nil {
		_ = o.Close()
		o.held = file
	}
	return err
}

// mayReplace returns an error if another process owns the file.
func (o *Owned) mayReplace(p *place) error {
	info, err := p.root.Lstat(p.base)
	if err != nil || !info.Mode().IsRegular() || o.holds(info) {
		return nil // what else has the name is nobody's
	}
	file, err := p.root.OpenFile(p.base, os.O_RDONLY|nonblock|nofollow, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	if err := lockFile(file); err != nil {
		return fmt.Errorf("%s: %w", filepath.Clean(o.path), err)
	}
	return nil
}

// holds reports whether this is the file that the owner has locked.
func (o *Owned) holds(info fs.FileInfo) bool {
	if o.held == nil {
		return false
	}
	mine, err := o.held.Stat()
	return err == nil && os.SameFile(mine, info)
}

// Close ends the ownership. It may be called twice.
func (o *Owned) Close() error {
	if o.held == nil {
		return nil
	}
	file := o.held
	o.held = nil
	return file.Close()
}
