package lock

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"kiln/render/config"
	"kiln/render/folder"
	"kiln/render/target"
)

// mirrorConfig is the configuration whose lock stands for the files of a mirror. Only the lock is
// there: kiln.lock.yaml.
const mirrorConfig = "kiln.yaml"

// mirror is a folder with the files of a lock, each below the path of its URL.
type mirror struct {
	root  *os.Root
	taken map[string]string // the URL of a file, by its path in the folder
}

// MirrorPath returns where a mirror has the file of a URL, without a slash in front.
func MirrorPath(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(u.Path, "/")
	if !fs.ValidPath(name) || name == "." || name == config.LockPath(mirrorConfig) {
		return "", fmt.Errorf("%s: its path cannot be a file of a mirror", text)
	}
	return name, nil
}

// ReadMirror returns the lock of a folder that Save wrote, and nil for another folder.
func ReadMirror(dir string) ([]target.Artifact, error) {
	return config.ReadLock(mirrorConfig, os.DirFS(dir))
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
		l.mirror = &mirror{root: root, taken: map[string]string{}}
		defer func() { l.mirror = nil }()
		if out, err = l.Make(ctx, wanted, old); err != nil {
			return err
		}
		return root.WriteFile(config.LockPath(mirrorConfig), config.EncodeLock(out), 0o644)
	})
	return out, err
}

// take returns where a file goes, and makes its folder. It fails if another URL has that path.
func (m *mirror) take(url string) (name string, err error) {
	if name, err = MirrorPath(url); err != nil {
		return "", err
	}
	if other := m.taken[name]; other != "" {
		return "", fmt.Errorf("%s and %s have one path, so no mirror can have both", other, url)
	}
	m.taken[name] = url
	return name, m.root.MkdirAll(path.Dir(name), 0o755)
}

// create opens a file of the mirror, which is empty then.
func (m *mirror) create(name string) (io.WriteCloser, error) {
	return m.root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
}
