package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrBusy comes when another run has locked a folder or a temporary file.
var ErrBusy = errors.New("another kiln is writing there; wait until it has ended, and try again")

// replace writes a file in the place of whatever has its name, even a link, which is not followed,
// if may allows it when all is written. The old file stays whole until the new one is on disk.
// Several processes may replace one file at a time, each under a temporary name of its own; the
// last one wins. The caller must know that the file is its own: Write is for a file that may be a
// person's. It returns the new file, open and locked, if it has taken its place, with an error if
// the disk did not confirm that.
func replace(
	path string, data []byte, mode fs.FileMode, may func(*place) error,
) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	p := &place{path: path, root: root, base: filepath.Base(path)}
	defer p.close()
	file, err := p.beginFree(mode)
	if err != nil {
		return nil, err
	}
	if err := p.fill(file, data, mode); err != nil {
		return nil, err
	}
	if err = may(p); err == nil {
		err = p.root.Rename(p.temp, p.base)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), p.root.Remove(p.temp))
	}
	NoteChange()
	if err = p.sync(); unsupported(err) {
		noteUnsynced(p.path, err)
		err = nil
	}
	return file, err
}

// beginFree is begin under the first free numbered name.
func (p *place) beginFree(mode fs.FileMode) (*os.File, error) {
	for n := 1; ; n++ {
		p.temp = fmt.Sprintf("%s%s-%d", p.base, Suffix, n)
		file, err := p.begin(mode)
		taken := errors.Is(err, fs.ErrExist) || errors.Is(err, ErrBusy)
		if file != nil || err != nil && !taken {
			return file, err
		}
	}
}

// Tidy removes the temporary files of Write, Create and Owned.Replace that interrupted runs left
// beside a file. It removes no file that a run is writing, and nothing that kiln does not make:
// links, pipes, folders. It ignores failures.
func Tidy(path string) {
	p, err := open(path)
	if err != nil {
		return
	}
	defer p.close()
	_ = p.tidy()
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), p.base+Suffix+"-")
		if ok && number != "" && strings.Trim(number, "0123456789") == "" {
			p.temp = e.Name()
			_ = p.tidy()
		}
	}
}
