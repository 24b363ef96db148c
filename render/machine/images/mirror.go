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

// An archive of kiln archive is an image layout of OCI. Beside it lies the lock of its programs,
// which are blobs as the parts of images are.
const (
	ArchiveType  = "application/vnd.kiln.archive" // the artifactType of its index
	ArchiveBlobs = "blobs/sha256/"                // each blob has the name of its SHA-256
	ArchiveSums  = "SHA256SUMS"                   // lists all files of a whole archive
	// ArchiveParts has a file for each image and architecture, ARCH/SHA-256. It begins with the
	// media type and the size of the image's manifest. Then it has the blobs of that build, a line
	// each, as paths in the archive. Machines read it, which take images apart with no program.
	ArchiveParts = "parts/"
)

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

// RegistryLines returns the lines of a configuration with which machines pull from elsewhere.
func RegistryLines(rows []config.Registry) (lines []string) {
	for _, row := range rows {
		ca := ""
		if row.CA != "" {
			ca = ", ca: " + row.CA
		}
		lines = append(lines, fmt.Sprintf("  - {host: %s, mirrors: [%q], mirrorsOnly: true%s}",
			row.Host, row.Mirrors[0], ca))
	}
	if len(rows) > 0 {
		lines = append([]string{"machines:", "  registries:"}, lines...)
	}
	return lines
}
