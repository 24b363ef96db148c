package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// same reports whether the file has this content, and whether it exists. If the mode is 0600 the
// file must have that mode; otherwise git and the umask decide the mode.
func (f *Folder) same(name string, data []byte) (same, there bool, err error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	if !info.Mode().IsRegular() {
		return false, true, fmt.Errorf("%s: not a regular file; remove it",
			filepath.Join(f.Dir, name))
	}
	if info.Size() != int64(len(data)) || f.Mode == 0o600 && info.Mode().Perm() != f.Mode {
		return false, true, nil
	}
	old, err := f.read(name, int64(len(data)))
	return bytes.Equal(old, data), true, err
}

// read returns a regular file of the folder.
func (f *Folder) read(name string, limit int64) ([]byte, error) {
	return ReadInside(f.root, f.Dir, name, limit)
}

// compare notes whether a file would change.
func (f *Folder) compare(name string, data []byte) error {
	if f.Differs == nil {
		return nil
	}
	var old []byte
	if f.root != nil {
		var err error
		if old, err = f.read(name, MaxList); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f.Differs(name, old, data)
	return nil
}
