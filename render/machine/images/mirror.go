// This file says where the files of a lock lie in the folder of a mirror. kiln lock --save
// writes such a folder, and kiln serve reads it.

package images

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// configuration is the one whose lock stands for the files of a mirror. Only the lock is there.
const configuration = "kiln.yaml"

// LockFile is the name of the lock in the folder: kiln.lock.yaml.
var LockFile = config.LockPath(configuration)

// MirrorPath returns where a mirror has the file of a URL: the path of the URL, without a slash in
// front. It fails for a path that no file can have.
func MirrorPath(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(u.Path, "/")
	if !fs.ValidPath(name) || name == "." || name == LockFile {
		return "", fmt.Errorf("%s: its path cannot be a file of a mirror", text)
	}
	return name, nil
}

// ReadMirror returns the lock in the folder of a mirror, and nil for another folder.
func ReadMirror(dir fs.FS) ([]target.Artifact, error) {
	locked, err := config.ReadLock(configuration, dir)
	if err != nil || locked == nil {
		return nil, err
	}
	return locked.Artifacts, nil
}
