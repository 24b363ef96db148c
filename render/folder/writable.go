package folder

import (
	"io/fs"
	"os"
	"path/filepath"
)

// WritableByAll returns the nearest folder above a path that everybody may change, in which anybody
// could replace the path; empty if there is none. In a folder with the sticky bit only owners can
// do that.
func WritableByAll(name string) string {
	whole, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(whole); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
