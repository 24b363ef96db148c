package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrIrregular comes when a file to be read is not a regular file: a folder, a pipe, a socket, a
// device, or a file of the kernel whose reads wait.
var ErrIrregular = errors.New("not a regular file")

// Read returns the content of a regular file of at most limit bytes. Anything else is an error: a
// pipe or a device would never end.
func Read(path string, limit int64) ([]byte, error) {
	return readRegular(path, limit, os.Stat, os.OpenFile, path)
}

// ReadGiven is Read for a file that the user named: it also reads a pipe, such as the shell's
// <(command). It reports whether the file can be written back.
func ReadGiven(path string, limit int64) (data []byte, stored bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		data, err = Read(path, limit)
		return data, true, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	data, err = ReadUpTo(path, f, limit)
	return data, false, err
}

// ReadInside is Read for a file below root, which is the folder dir. No link leads out of it.
func ReadInside(root *os.Root, dir, name string, limit int64) ([]byte, error) {
	name = filepath.FromSlash(name)
	return readRegular(filepath.Join(dir, name), limit, root.Stat, root.OpenFile, name)
}

// ReadNoLink is Read, but a link at path is refused instead of followed.
func ReadNoLink(path string, limit int64) ([]byte, error) {
	return readRegular(path, limit, os.Lstat, openNoLink, path)
}

// openNoLink opens a file, but no link: one may have taken the place of a file since Lstat.
func openNoLink(path string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag|nofollow, mode)
}

// OpenInside opens a regular file below the folder dir for reading. It follows links below dir, but
// none that leads out of it. If name is no regular file it fails at once, without waiting. The
// error wraps ErrIrregular then, fs.ErrNotExist if nothing has the name, and syscall.ENOTDIR if dir
// is no folder.
func OpenInside(dir, name string) (*os.File, error) {
	root, err := OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	name = filepath.FromSlash(name)
	whole := filepath.Join(dir, name)
	f, err := openRegular(whole, root.Stat, root.OpenFile, name)
	if failed, ok := err.(*fs.PathError); ok {
		failed.Path = whole
	}
	return f, err
}

// OpenRoot is os.OpenRoot, but it fails at once with syscall.ENOTDIR if dir is no folder. The one
// of os waits for the other end of a pipe, and gives no cause.
func OpenRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// ReadUpTo reads all of in, which messages call name. It fails if there are more than limit bytes.
func ReadUpTo(name string, in io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > limit {
		if limit < 1<<20 {
			return nil, fmt.Errorf("%s: larger than %d bytes", name, limit)
		}
		return nil, fmt.Errorf("%s: larger than %d MiB", name, limit>>20)
	}
	return data, nil
}

// readRegular opens a file with openRegular and reads it, up to limit bytes and without waiting.
func readRegular(name string, limit int64, stat func(string) (fs.FileInfo, error),
	open func(string, int, fs.FileMode) (*os.File, error), at string,
) ([]byte, error) {
	f, err := openRegular(name, stat, open, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadUpTo(name, withoutWaiting(f), limit)
}

// openRegular opens the file at; messages call it name. It checks the type before opening, because
// opening a device can have an effect, and again after opening. Opening does not wait, because a
// pipe may have taken the file's place in between.
func openRegular(name string, stat func(string) (fs.FileInfo, error),
	open func(string, int, fs.FileMode) (*os.File, error), at string,
) (*os.File, error) {
	info, err := stat(at)
	if err != nil {
		return nil, err
	}
	irregular := fmt.Errorf("%s: %w", name, ErrIrregular)
	if !info.Mode().IsRegular() {
		return nil, irregular
	}
	f, err := open(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, irregular, f.Close())
	}
	return f, nil
}

// OpenAppend opens a file, or creates it with mode 0600, to append to it. access is os.O_WRONLY or
// os.O_RDWR. It fails at once, without waiting, if path is a FIFO that no process reads.
func OpenAppend(path string, access int) (*os.File, error) {
	f, err := os.OpenFile(path, access|os.O_CREATE|os.O_APPEND|nonblock, 0o600)
	if errors.Is(err, syscall.ENXIO) {
		if info, _ := os.Stat(path); info != nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil, fmt.Errorf("%s: a FIFO that nobody reads; start its reader first, "+
				"or name a file", path)
		}
	}
	return f, err
}

// withPath returns the error of a file with the path by which the caller knows it: an os.Root says
// only the part below its folder.
func withPath(path string, err error) error {
	var one *fs.PathError
	if !errors.As(err, &one) {
		return err
	}
	return &fs.PathError{Op: one.Op, Path: path, Err: one.Err}
}
