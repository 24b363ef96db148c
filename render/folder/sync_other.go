//go:build !linux

package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncFolder writes every file and folder below dir to disk.
func syncFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
