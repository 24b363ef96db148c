package lock

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
)

// saved is a folder in which files are kept, as package images says.
type saved struct {
	root  *os.Root
	taken map[string]string // the URL of a file, by its path in the folder
}

// Save is Make, and keeps all files in a new folder, which any web server can hand out as a mirror.
// The folder is whole or not there. Without a folder it is just Make.
func (l *Locker) Save(
	ctx context.Context, dir string, wanted, old []target.Artifact,
) (out []target.Artifact, err error) {
	if dir == "" {
		return l.Make(ctx, wanted, old)
	}
	err = folder.Make(dir, func(root *os.Root) error {
		l.saved = &saved{root: root, taken: map[string]string{}}
		defer func() { l.saved = nil }()
		if out, err = l.Make(ctx, wanted, old); err != nil {
			return err
		}
		return root.WriteFile(images.LockFile, (&config.Locked{Artifacts: out}).Encode(), 0o644)
	})
	return out, err
}

// take returns where a file goes, and makes its folder. It fails if another URL has that path.
func (s *saved) take(url string) (name string, err error) {
	if name, err = images.MirrorPath(url); err != nil {
		return "", err
	}
	if other := s.taken[name]; other != "" {
		return "", fmt.Errorf("%s and %s have one path, so no mirror can have both", other, url)
	}
	s.taken[name] = url
	return name, s.root.MkdirAll(path.Dir(name), 0o755)
}

// create opens a file of the folder, which is empty then.
func (s *saved) create(name string) (io.WriteCloser, error) {
	return s.root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
}
