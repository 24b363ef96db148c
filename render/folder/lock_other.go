//go:build !unix

package folder

import "os"

// modes says that the system has no mode bits that keep others out; nonblock, that it has no pipes
// among files; nofollow, that only Lstat tells a link from a file.
const (
	modes    = false
	nonblock = 0
	nofollow = 0
)

// lockFolder does nothing where the system has no advisory locks on folders.
func lockFolder(string) (unlock func(), err error) { return func() {}, nil }

// lockFile does nothing where the system has no advisory locks.
func lockFile(*os.File) error { return nil }

// OwnedByUser reports whether a file belongs to this user, where the system can tell.
func OwnedByUser(os.FileInfo) bool { return true }
