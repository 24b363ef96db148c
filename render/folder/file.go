package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
)

// maxFile is how many bytes of a file are read before it is replaced.
const maxFile = 64 << 20

// File describes one file that is written whole.
type File struct {
	Path string
	Mode fs.FileMode // of a new file; a replaced file keeps its mode
	// What and Flag are for messages: the kind of file, such as "a page of kiln report", and the
	// flag that names it. Both are empty for a file that was read and is written again: Ours then
	// holds for the content that was read.
	What, Flag string
	// Exists is set for a file that was read and is written again: if it is gone by then, it has
	// been renamed or removed, and Write fails.
	Exists bool
	// Ours reports whether a file with this content may be replaced. An empty file always may.
	Ours func(content []byte) bool
}

// Write writes a new file, or replaces a file for which Ours returns true. The old file stays whole
// until the new one is on disk. A link stays, and the file that it leads to is replaced. Write
// refuses to replace anything else.
func Write(f File, data []byte) error {
	p, err := open(f.Path)
	if err != nil {
		return err
	}
	defer p.close()
	info, err := p.root.Lstat(p.base)
	if errors.Is(err, fs.ErrNotExist) {
		if f.Exists {
			return fmt.Errorf("%s: it has gone since it was read, and is not made again; "+
				"run the command again", f.Path)
		}
		return p.create(data, f.Mode, p.root.Link)
	}
	if err != nil {
		return err
	}
	if err := f.refusal(p, info); err != nil {
		return err
	}
	file, err := p.stage(data, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	// Another run may have replaced the file before this one had the lock.
	if info, err = p.root.Lstat(p.base); err == nil {
		err = f.refusal(p, info)
	}
	if err == nil {
		err = p.root.Rename(p.temp, p.base)
	}
	if err != nil {
		return errors.Join(err, p.root.Remove(p.temp))
	}
	p.settle()
	return nil
}

// refusal returns why the existing file must not be replaced, or nil.
func (f *File) refusal(p *place, info fs.FileInfo) error {
	content, err := readRegular(f.Path, maxFile, p.root.Stat, p.root.OpenFile, p.base)
	switch {
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: not a regular file", f.Path)
	case err == nil && (len(content) == 0 || f.Ours(content)):
		return nil
	case err == nil && f.What == "":
		return fmt.Errorf("%s: it has changed since it was read, and is not replaced; "+
			"run the command again", f.Path)
	case err == nil:
		err = fmt.Errorf("%s: %snot %s", f.Path, contentKind(content), f.What)
	}
	err = fmt.Errorf("%w; it is not replaced", err)
	if f.Flag != "" {
		err = fmt.Errorf("%w: name another file with %s", err, f.Flag)
	}
	return err
}

var kinds = []struct {
	mark *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`(?m)^kind: Secrets\s*$`),
		"a bundle, which holds every secret of a cluster, and "},
	{regexp.MustCompile(`PRIVATE KEY-----|AGE ENCRYPTED FILE-----|^age-encryption\.org/`),
		"holds a private key, and is "},
	{regexp.MustCompile(`(?m)^kind: Cluster\s*$`), "a cluster's configuration, and "},
}

// contentKind names a content that a user would miss; empty for any other content.
func contentKind(content []byte) string {
	for _, k := range kinds {
		if k.mark.Match(content) {
			return k.text
		}
	}
	return ""
}

// Create writes a new file, whole or not at all, even if the run is killed. It never replaces
// another file.
func Create(path string, data []byte, mode fs.FileMode) error {
	p, err := open(path)
	if err != nil {
		return err
	}
	defer p.close()
	return p.create(data, mode, p.root.Link)
}

// Rename gives a file another name in its folder. It renames no link: the file may have that name
// elsewhere, and then Rename reports false. Nothing may have the new name.
func Rename(path, to string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	if _, err := os.Lstat(to); err == nil {
		return false, &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	p, err := open(path)
	if err != nil {
		return false, err
	}
	defer p.close()
	if err := p.root.Rename(p.base, filepath.Base(to)); err != nil {
		return false, err
	}
	p.settle()
	return true, nil
}

// Make makes a new folder that only its owner can use, with everything that fill puts into it, or
// nothing. It fails if the path exists.
func Make(path string, fill func(*os.Root) error) error {
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w; name a new folder",
			&fs.PathError{Op: "make", Path: path, Err: fs.ErrExist})
	}
	temp := path + Suffix
	for {
		err := os.Mkdir(temp, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w; name a new folder", err)
		}
		if err := removeFolder(temp); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	unlock, err := lockFolder(temp)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unlock()
	if err = fill(root); err == nil {
		err = Sync(temp)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	NoteChange()
	return nil
}

// Hold opens a folder, and keeps other runs away from it until release is called. It makes the
// folder, for its owner alone, if it does not exist.
func Hold(path string) (root *os.Root, release func(), err error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, err
	}
	if root, err = os.OpenRoot(path); err != nil {
		return nil, nil, err
	}
	unlock, err := lockFolder(path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), root.Close())
	}
	return root, func() { unlock(); _ = root.Close() }, nil
}

// removeFolder removes the folder that a killed run of Make left.
func removeFolder(temp string) error {
	info, err := os.Lstat(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another run has removed it
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder, and kiln needs its name; remove it", temp)
	}
	unlock, err := lockFolder(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", temp, err)
	}
	defer unlock()
	return os.RemoveAll(temp)
}

// place is a file's real folder, and its name there.
type place struct {
	path string // as the caller named it, for messages
	root *os.Root
	base string
	temp string // the file's name while it is not whole
}

// open returns the place of the file that a path leads to, after following links. The file need not
// exist, but its folder must.
func open(path string) (*place, error) {
	whole := path
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if whole, err = filepath.EvalSymlinks(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: a link to nothing; remove it", path)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(whole))
	if err != nil {
		return nil, err
	}
	base := filepath.Base(whole)
	return &place{path: path, root: root, base: base, temp: base + Suffix}, nil
}

func (p *place) close() {
	pending.Delete(filepath.Join(filepath.Dir(p.path), p.temp))
	_ = p.root.Close()
}

// create makes a new file: whole under its temporary name, and then under its own by a hard link,
// which never replaces another file. On a file system without hard links an empty file holds the
// name for a moment.
func (p *place) create(data []byte, mode fs.FileMode, link func(old, now string) error) error {
	if _, err := p.root.Lstat(p.base); err == nil {
		return &fs.PathError{Op: "create", Path: p.path, Err: fs.ErrExist}
	}
	file, err := p.stage(data, mode)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := link(p.temp, p.base); err == nil || errors.Is(err, fs.ErrExist) {
		if err == nil {
			p.settle()
		}
		return errors.Join(err, p.root.Remove(p.temp))
	}
	empty, err := p.root.OpenFile(p.base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return errors.Join(err, p.root.Remove(p.temp))
	}
	_ = empty.Close()
	if err := p.root.Rename(p.temp, p.base); err != nil {
		return errors.Join(err, p.root.Remove(p.base), p.root.Remove(p.temp))
	}
	p.settle()
	return nil
}

// stage writes the temporary file, syncs it and returns it locked. The lock shows other runs that
// the file is in use.
func (p *place) stage(data []byte, mode fs.FileMode) (*os.File, error) {
	for {
		file, err := p.begin(mode)
		switch {
		case errors.Is(err, fs.ErrExist):
			if err := p.tidy(); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		case file != nil:
			return file, p.fill(file, data, mode)
		}
	}
}

// begin makes the temporary file and locks it. It returns nil if another run removed the file
// because it took it for a leftover, and ErrBusy if another run is doing so.
func (p *place) begin(mode fs.FileMode) (*os.File, error) {
	file, err := p.root.OpenFile(p.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, withPath(p.path+Suffix, err)
	}
	if mine, err := p.lock(file); err != nil || !mine {
		return nil, errors.Join(err, file.Close())
	}
	if err := begun(filepath.Join(filepath.Dir(p.path), p.temp)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

var (
	// pending holds the paths of the temporary files of this process. One that is done leaves it:
	// another process may use the path next.
	pending   sync.Map
	abandoned atomic.Bool
)

// begun remembers a new temporary file. It removes the file and fails after Abandon.
func begun(temp string) error {
	pending.Store(temp, true)
	if !abandoned.Load() {
		return nil
	}
	return errors.Join(errors.New("interrupted"), os.Remove(temp))
}

// Abandon removes the temporary files of this process, which is to end now, and lets it make no
// others. What has its name is whole and stays.
func Abandon() {
	abandoned.Store(true)
	pending.Range(func(path, _ any) bool {
		_ = os.Remove(path.(string))
		return true
	})
}

// fill writes the temporary file and syncs it. It closes and removes it if that fails.
func (p *place) fill(file *os.File, data []byte, mode fs.FileMode) error {
	_, err := file.Write(data)
	if err == nil {
		err = errors.Join(file.Chmod(mode), file.Sync())
	}
	if err != nil {
		var failed *fs.PathError // it names the temporary file
		if errors.As(err, &failed) {
			err = &fs.PathError{Op: "write", Path: p.path, Err: failed.Err}
		}
		err = errors.Join(err, file.Close(), p.root.Remove(p.temp))
	}
	return err
}

// lock locks a temporary file, and reports whether it still has its name.
func (p *place) lock(file *os.File) (bool, error) {
	if err := lockFile(file); err != nil {
		return false, fmt.Errorf("%s: %w", p.path, err)
	}
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := p.root.Lstat(p.temp)
	return err == nil && os.SameFile(opened, there), nil
}

// tidy removes a temporary file that a run left.
func (p *place) tidy() error {
	name := filepath.Join(filepath.Dir(p.path), p.temp)
	info, err := p.root.Lstat(p.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file, and kiln needs its name; remove it", name)
	}
	if err != nil {
		return err
	}
	file, err := p.root.OpenFile(p.temp, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w; remove it", name, err)
	}
	defer func() { _ = file.Close() }()
	if mine, err := p.lock(file); err != nil || !mine {
		return err
	}
	return p.root.Remove(p.temp)
}

// settle notes that the file has its name now, and writes the name to disk. The file stays there if
// that fails.
func (p *place) settle() {
	NoteChange()
	noteUnsynced(p.path, p.sync())
}

// sync writes the names of the folder to disk.
func (p *place) sync() error {
	dir, err := p.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncNames(dir), dir.Close())
}

// syncNames writes the names of an open folder to disk. Tests let it fail.
var syncNames = (*os.File).Sync
