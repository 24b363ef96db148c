package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Read returns the content of a regular file of at most limit bytes. Anything else is an error: a
// pipe or a device would never end.
func Read(path string, limit int64) ([]byte, error) {
	return readRegular(path, limit, os.Stat, os.OpenFile, path)
}

// ReadGiven is Read for a file that somebody named: it also reads a pipe, such as the shell's
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

// ReadInside is Read for a file below the folder dir, which root is: no link leads out of it.
func ReadInside(root *os.Root, dir, name string, limit int64) ([]byte, error) {
	name = filepath.FromSlash(name)
	return readRegular(filepath.Join(dir, name), limit, root.Stat, root.OpenFile, name)
}

// ReadUpTo reads all of what is called name. More than limit bytes are an error.
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

// readRegular reads the file at, called name. It looks before it opens, for opening alone does
// something to a device, and again afterwards. Opening does not wait: a pipe may have come in
// between.
func readRegular(name string, limit int64, stat func(string) (fs.FileInfo, error),
	open func(string, int, fs.FileMode) (*os.File, error), at string,
) ([]byte, error) {
	info, err := stat(at)
	if err != nil {
		return nil, err
	}
	irregular := fmt.Errorf("%s: not a regular file", name)
	if !info.Mode().IsRegular() {
		return nil, irregular
	}
	f, err := open(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, irregular)
	}
	return ReadUpTo(name, f, limit)
}
