//go:build !unix

package folder

import "os"

// modes is false: this system has no mode bits that keep other users out. nonblock is 0: it has no
// pipes among files. nofollow is 0: only Lstat distinguishes a link from a file.
const (
	modes    = false
	nonblock = 0
	nofollow = 0
)

// lockFolder does nothing where the system has no advisory locks on folders.
func lockFolder(string) (unlock func(), err error) { return func() {}, nil }

// lockFile does nothing where the system has no advisory locks.
func lockFile(*os.File) error { return nil }

// OwnedByUser reports whether a file belongs to this user, if the system knows.
func OwnedByUser(os.FileInfo) bool { return true }
