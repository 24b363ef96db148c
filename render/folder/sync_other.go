//go:build !linux

package folder

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Sync writes every file and folder below dir to disk. An error is unsupported if the file
// system syncs the files, and no folders.
func Sync(dir string) (refused error) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err = f.Sync(); entry.IsDir() && unsupported(err) {
			refused, err = err, nil
		}
		return errors.Join(err, f.Close())
	})
	return cmp.Or(err, refused)
}
