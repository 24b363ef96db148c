package folder

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sync writes everything on the folder's file system to disk in one call: syncing ten
// thousand files one by one would take minutes.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.Syncfs(int(f.Fd()))
}
