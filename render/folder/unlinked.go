package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ErrLink comes when a file to be read, or a folder above it, is a link and must not be one.
var ErrLink = errors.New("a link, or below one")

// OpenUnlinked is OpenInside, but it follows no link below dir. The error wraps ErrLink if there is
// one.
func OpenUnlinked(dir, name string) (*os.File, error) {
	root, err := OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	whole, parent := filepath.Join(dir, filepath.FromSlash(name)), path.Dir(name)
	for part := range strings.SplitSeq(parent, "/") {
		below, err := enter(root, part, whole)
		if err != nil {
			return nil, err
		}
		_ = root.Close()
		root = below
	}
	base := path.Base(name)
	before, err := lstat(root, base, whole)
	if err != nil {
		return nil, err
	}
	f, err := openRegular(whole, root.Lstat, root.OpenFile, base)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		return nil, errors.Join(err, fmt.Errorf("%s: %w", whole, ErrLink), f.Close())
	}
	return f, nil
}

// enter opens the folder called part. Messages call the file that lies below it whole.
func enter(root *os.Root, part, whole string) (*os.Root, error) {
	before, err := lstat(root, part, whole)
	if err != nil {
		return nil, err
	}
	below, err := root.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	// A link may have taken the folder's place in between.
	if info, err := below.Stat("."); err != nil || !os.SameFile(before, info) {
		return nil, errors.Join(err, fmt.Errorf("%s: %w", whole, ErrLink), below.Close())
	}
	return below, nil
}

// lstat describes what has a name, and fails with ErrLink if that is a link.
func lstat(root *os.Root, name, whole string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = fmt.Errorf("%s: %w", whole, ErrLink)
	}
	return info, err
}
