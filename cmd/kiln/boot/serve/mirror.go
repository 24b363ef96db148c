package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
)

// addMirror adds the programs in a folder that kiln lock --save or kiln archive wrote. They are for
// everybody, any number of times.
func (c *catalogue) addMirror(dir string) error {
	artifacts, err := images.ReadMirror(os.DirFS(dir))
	if err != nil {
		return err
	}
	var errs []error
	for i := range artifacts {
		errs = append(errs, c.program(dir, &artifacts[i]))
	}
	return errors.Join(errs...)
}

// program adds one file of a mirror. It fails if the file is not the one of the lock.
func (c *catalogue) program(dir string, a *target.Artifact) error {
	name, err := images.MirrorPath(a.URL)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	it := &item{path: "/" + name, dir: dir, file: name, image: true, parts: true}
	if _, err := os.Stat(filepath.Join(dir, images.ArchiveBlobs)); err == nil {
		it.file = images.ArchiveBlobs + a.SHA256
	}
	sum, err := it.hash()
	switch {
	case err != nil:
	case sum != a.SHA256:
		err = errors.New("it is not the file of the lock beside it; " +
			"kiln lock --save writes a new folder, and kiln archive replaces it")
	default:
		c.programs = true
		return c.add(it)
	}
	return fmt.Errorf("%s: %w", filepath.Join(dir, it.file), err)
}

// hash returns the SHA-256 of an item of any size.
func (it *item) hash() (string, error) {
	f, _, err := it.open()
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", errUnread
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// showParts answers with a file, or with the part of it that the request names, and returns whether
// all of that was sent.
func showParts(w http.ResponseWriter, r *http.Request, f io.ReadSeeker, rec *record) bool {
	out := &counter{ResponseWriter: w}
	http.ServeContent(out, r, "", time.Time{}, f)
	rec.Status, rec.Bytes = out.status, out.bytes
	return !out.failed
}

// counter counts what is answered.
type counter struct {
	http.ResponseWriter
	status, bytes int
	failed        bool
}

func (c *counter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(p []byte) (n int, err error) {
	n, err = c.ResponseWriter.Write(p)
	c.bytes += n
	c.failed = c.failed || err != nil
	return n, err
}
