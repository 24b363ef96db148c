package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"
)

// CreateWithout is Create on a file system without hard links: link fails with err.
func CreateWithout(path string, data []byte, mode fs.FileMode, err error) error {
	p, failed := open(path)
	if failed != nil {
		return failed
	}
	defer p.close()
	return p.create(data, mode, func(string, string) error { return err })
}

// Writing begins to write a file. It returns the file under its temporary name, locked as long as
// it is open.
func Writing(path string) (*os.File, error) {
	p, err := open(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.stage([]byte("half of it"), 0o600)
}

// WithoutWaiting is withoutWaiting.
func WithoutWaiting(f *os.File) io.Reader { return withoutWaiting(f) }

// FailSync lets every sync of a folder's names fail with err, until the test ends. The test must
// not be parallel.
func FailSync(t *testing.T, err error) {
	t.Helper()
	syncNames = func(dir *os.File) error {
		return &fs.PathError{Op: "sync", Path: dir.Name(), Err: err}
	}
	t.Cleanup(func() { syncNames = (*os.File).Sync })
}

// Replace is replace for everybody, whoever else does it.
func Replace(path string, data []byte, mode fs.FileMode) error {
	file, err := replace(path, data, mode, func(*place) error { return nil })
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	return err
}
