package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errNotPlain is the cause when a file is something else than bytes on a disk.
var errNotPlain = errors.New("want a plain file")

// openPlain opens a plain file for reading. It fails at once, and never waits, if path is a link, a
// FIFO, a device or a folder. The error wraps fs.ErrNotExist if there is nothing.
func openPlain(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %s, %w", path, kindOf(info.Mode()), errNotPlain)
	}
	// Something else may have taken its place since. A link that has is refused here, and
	// everything else below.
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock|nofollow, 0)
	if err != nil {
		return nil, err
	}
	return plain(f)
}

// openInside opens a plain file of the folder dir. Links in it are followed, but none that leads
// out of dir. It fails at once, and never waits, if name is a FIFO, a device or a folder. The error
// wraps fs.ErrNotExist if there is nothing.
func openInside(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	return plain(f)
}

// OpenLog opens a file, or creates it, to add lines to it. access is os.O_WRONLY or os.O_RDWR. It
// fails at once, and never waits, if path is a FIFO that nobody reads.
func OpenLog(path string, access int) (*os.File, error) {
	f, err := os.OpenFile(path, access|os.O_CREATE|os.O_APPEND|nonblock, 0o600)
	if errors.Is(err, syscall.ENXIO) {
		if info, _ := os.Stat(path); info != nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil, fmt.Errorf("%s: a FIFO that nobody reads; start its reader first, or name a file", path)
		}
	}
	return f, err
}

// plain returns f if it is a plain file, and closes it otherwise.
func plain(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %s, %w", f.Name(), kindOf(info.Mode()), errNotPlain)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// kindOf is what messages call a file that is not a plain one.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
