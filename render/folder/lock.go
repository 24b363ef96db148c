package folder

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// nonblock opens a pipe without waiting for its other end; nofollow refuses to open a link.
const (
	nonblock = syscall.O_NONBLOCK
	nofollow = syscall.O_NOFOLLOW
)

// lockFolder keeps a second run away from the folder until unlock is called or the process ends. It
// leaves no file behind.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// lockFile locks an open file until it is closed or the process ends. It does not wait.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrBusy
	case err != nil:
		return fmt.Errorf("cannot be locked: %w", err)
	}
	return nil
}

// OwnedByUser reports whether a file belongs to this user or to root.
func OwnedByUser(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid()
}
